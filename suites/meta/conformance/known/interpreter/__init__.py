"""Tests of hypotheses about StableHLO's interpreter."""
