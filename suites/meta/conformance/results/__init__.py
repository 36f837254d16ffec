"""Tests of the store and of comparisons between runs."""
