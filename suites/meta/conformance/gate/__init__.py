"""Tests of expectations."""
