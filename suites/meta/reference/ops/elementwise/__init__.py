"""Tests of the elementwise ops, of conversions and of their constraints."""
