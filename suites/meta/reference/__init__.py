"""Tests of the reference: ops, numerics, interpreter."""
