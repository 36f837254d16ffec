"""Contraction: products that sums take unrounded."""
