"""Tests of the count of compilations."""
