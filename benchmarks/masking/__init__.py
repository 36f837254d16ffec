"""Measurement of how many new failures known divergences would hide."""
