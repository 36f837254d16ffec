"""Tests of gathers and scatters."""
