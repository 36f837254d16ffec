"""Error bounds of ops whose rule is no figure in ulp, a file for each family."""
