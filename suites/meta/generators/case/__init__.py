"""Tests of columns and of the plans of cells."""
