"""Tests of families of ops: semantics, unspecified results, rules, cases."""
