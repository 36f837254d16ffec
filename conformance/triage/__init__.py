"""Localisation of failures: the operation at fault, and the known divergence it shows."""
