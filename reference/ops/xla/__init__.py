"""XlaBuilder's ops, by family: the differences between XLA's operation semantics and StableHLO.

"The page" is XLA's documentation of its operation semantics.
"""
