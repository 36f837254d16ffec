"""Tests of hypotheses about elements of less than a byte."""
