"""Divergences of XLA's compilers, as models."""
