"""Minimisation: failing programs reduced as far as they still fail in the same way."""
