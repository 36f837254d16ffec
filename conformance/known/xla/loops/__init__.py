"""Loops: trip counts, final counters, and code for small loops."""
