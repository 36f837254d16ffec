"""Models of what compilers are known to compute in place of what is asked."""
