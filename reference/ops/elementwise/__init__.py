"""Elementwise ops: result types, and the records."""
