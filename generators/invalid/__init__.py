"""Near misses: programs that violate exactly one constraint, a file for each family."""
