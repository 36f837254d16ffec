"""Custom calls of LAPACK routines, as frameworks write them."""
