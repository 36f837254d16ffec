"""Tests of simplified programs."""
