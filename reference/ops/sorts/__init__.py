"""Sorting, and the keys of comparators."""
