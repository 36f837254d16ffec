"""Custom calls that compilers make: the meaning of each target, in operations of the reference."""
