"""Judging: results against expected results, with a verdict and a class for each element."""
