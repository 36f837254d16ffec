"""Tests of sorting and comparators."""
