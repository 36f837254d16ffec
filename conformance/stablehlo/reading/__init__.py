"""Conversion of StableHLO that MLIR has parsed to parts of programs."""
