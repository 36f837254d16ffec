"""Tests of what the specification leaves open."""
