"""StableHLO's own interpreter in jaxlib: an independent implementation of the specification."""
