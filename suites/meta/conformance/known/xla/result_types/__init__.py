"""Tests of hypotheses about results of other element types or shapes."""
