"""Ops that work element by element: result types, and the records."""
