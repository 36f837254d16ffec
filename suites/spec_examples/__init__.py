"""The specification's own examples, a file for each family of ops."""
