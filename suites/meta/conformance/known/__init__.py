"""Tests of hypotheses."""
