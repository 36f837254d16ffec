"""Tests of the measurement of large reports."""
