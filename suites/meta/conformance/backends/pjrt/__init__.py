"""Tests of XLA through PJRT."""
