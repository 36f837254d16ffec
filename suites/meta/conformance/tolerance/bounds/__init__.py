"""Tests of error bounds."""
