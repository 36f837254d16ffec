"""Tests of runs of many cases."""
