"""Strategies of valid cases, a file for each family of ops, and the table of all ops."""
