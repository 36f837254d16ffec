"""Minimisation: failing programs reduced as long as they fail in the same way."""
