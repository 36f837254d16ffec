"""Correctly rounded arithmetic on arrays of any element type, and the parts of folds and
products."""
