"""Tests of rounding and of elementary functions."""
