"""Tests of hypotheses about flushed subnormal numbers."""
