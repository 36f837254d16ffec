"""Programs of several operations: linked cases of the families, and patterns that compilers
rewrite."""
