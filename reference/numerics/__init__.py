"""Arithmetic on arrays of any element type, correctly rounded, and what folds and products need."""
