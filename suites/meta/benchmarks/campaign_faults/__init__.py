"""Tests of the measurement of seeded faults."""
