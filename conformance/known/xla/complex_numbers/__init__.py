"""What compilers make of functions of complex numbers."""
