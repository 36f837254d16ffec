"""Decompositions and triangular systems as compilers compute them."""
