"""Divergences by subnormal numbers that are flushed to zero."""
