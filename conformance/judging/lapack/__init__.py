"""Judging calls of LAPACK by backward errors and residuals."""
