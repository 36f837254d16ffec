"""Tests of judgement of calls of LAPACK."""
