"""Tests of custom calls with a known meaning."""
