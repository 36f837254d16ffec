"""Tests of bodies and comparators."""
