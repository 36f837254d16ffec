"""Sorting, and what comparators compare by."""
