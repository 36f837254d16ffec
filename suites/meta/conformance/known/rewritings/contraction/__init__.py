"""Tests of contraction."""
