"""Tests of a family of ops: semantics, what is left open, rule, cases."""
