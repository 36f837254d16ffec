"""Results against expected results: a verdict and a class for each element."""
