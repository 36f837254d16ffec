"""Tests of reductions, windows and what they fold."""
