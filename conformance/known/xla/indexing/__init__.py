"""Misread positions: starts, bounds, indices, and sizes known up to a bound."""
