"""Tests of near misses."""
