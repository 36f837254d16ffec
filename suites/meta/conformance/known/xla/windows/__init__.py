"""Tests of hypotheses about convolutions and windows."""
