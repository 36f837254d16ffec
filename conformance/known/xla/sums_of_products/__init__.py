"""Sums of products as compilers compute them."""
