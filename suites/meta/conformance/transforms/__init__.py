"""Tests of conformance/transforms."""
