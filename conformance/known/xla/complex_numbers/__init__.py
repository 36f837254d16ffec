"""Functions of complex numbers as compilers compute them."""
