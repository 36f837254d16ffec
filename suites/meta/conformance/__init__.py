"""Tests of the harness, a folder for each of its rooms."""
