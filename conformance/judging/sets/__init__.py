"""Sets of the values that a program may give, operation by operation."""
