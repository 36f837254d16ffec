"""Near misses: programs that break exactly one constraint, a file for each family."""
