"""Tests of hypotheses about functions of complex numbers."""
