"""Tests of the measurement of failures that entries hide."""
