"""XlaBuilder's ops, by family: the differences between XLA's operation semantics and StableHLO."""
