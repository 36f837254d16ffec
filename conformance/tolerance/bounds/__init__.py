"""Error bounds of ops whose rule has no figure in ulp, a file for each family."""
