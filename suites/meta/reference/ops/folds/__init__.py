"""Tests of reductions, windows and their bodies."""
