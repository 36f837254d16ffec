"""Tests of the custom calls of LAPACK."""
