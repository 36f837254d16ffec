"""Tests of the reference as a backend with seeded faults."""
