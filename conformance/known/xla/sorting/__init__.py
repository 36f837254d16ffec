"""Sorts and TopK as XLA computes them."""
