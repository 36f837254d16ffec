"""Bodies of reductions and comparators of sorts, as small programs."""
