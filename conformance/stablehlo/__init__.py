"""StableHLO text out and in: programs emitted and parsed."""
