"""Tests of conformance/judging/sets."""
