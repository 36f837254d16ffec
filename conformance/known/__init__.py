"""Hypotheses: what a backend is known to compute in place of an operation."""
