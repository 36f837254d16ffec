"""Detection of faults that are seeded in a backend: of single ops and of rewritings."""
