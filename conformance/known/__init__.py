"""Hypotheses: known computations of a backend in place of an operation."""
