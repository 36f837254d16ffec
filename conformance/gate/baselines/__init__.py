"""Baselines: outcomes of a run as a text file, and comparisons with later runs."""
