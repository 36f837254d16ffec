"""Convolutions and reductions by windows as compilers compute them."""
