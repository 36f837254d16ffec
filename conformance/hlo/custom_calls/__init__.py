"""Custom calls that compilers make: what each target means, in operations of the reference."""
