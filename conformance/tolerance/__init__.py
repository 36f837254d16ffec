"""Tolerance rules: the permitted error of results, each with its source."""
