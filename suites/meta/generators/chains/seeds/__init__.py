"""Tests of fragments of programs."""
