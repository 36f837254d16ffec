"""Tolerance rules: what a result may differ by, each with its source."""
