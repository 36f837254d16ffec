"""Misread positions: starts, bounds, indices, and sizes with known bounds."""
