"""Tests of the benchmark on programs of third-party libraries."""
