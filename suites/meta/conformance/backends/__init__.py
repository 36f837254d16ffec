"""Tests of backends, and of the faults of the fake backend."""
