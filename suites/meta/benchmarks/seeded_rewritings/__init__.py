"""Tests of the measurement of seeded rewritings."""
