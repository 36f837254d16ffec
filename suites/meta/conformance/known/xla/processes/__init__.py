"""Tests of hypotheses about programs of several processes."""
