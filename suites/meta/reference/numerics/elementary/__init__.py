"""Tests of elementary functions."""
