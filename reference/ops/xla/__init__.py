"""XlaBuilder's ops, by family: XLA's operation semantics, as what differs from StableHLO's."""
