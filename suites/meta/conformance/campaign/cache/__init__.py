"""Tests of the cache of cases."""
