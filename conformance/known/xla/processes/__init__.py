"""Collectives with processes, or operands, in another order."""
