"""Divergences of StableHLO's interpreter, modelled after its source."""
