"""What compilers make of operations among others of their program."""
