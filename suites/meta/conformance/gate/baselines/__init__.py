"""Tests of baselines and comparisons."""
