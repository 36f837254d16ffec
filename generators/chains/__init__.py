"""Programs of several operations: cases of the families linked, and what compilers rewrite."""
