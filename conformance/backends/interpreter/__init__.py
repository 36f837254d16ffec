"""StableHLO's own interpreter, inside jaxlib: another reading of the specification."""
