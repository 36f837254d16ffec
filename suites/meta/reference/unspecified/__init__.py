"""Tests of unspecified results."""
