"""Unspecified results of each family of ops, as masks with a reason."""
