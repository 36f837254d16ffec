"""Tests of MLIR text out and in."""
