"""What MLIR has read of StableHLO's text, as parts of programs."""
