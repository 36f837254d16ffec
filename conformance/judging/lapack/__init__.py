"""Judging of LAPACK calls by backward errors and residuals."""
