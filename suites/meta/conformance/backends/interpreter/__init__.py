"""Tests of StableHLO's interpreter as a backend."""
