"""Tests of hypotheses about starts, bounds and indices."""
