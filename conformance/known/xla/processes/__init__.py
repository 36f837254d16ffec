"""Collectives with processes, or their operands, in another order."""
