"""Tests of the tables of ops and of constraints against the specification."""
