"""Near misses of XlaBuilder's ops, a file for each family of reference/ops/xla/.

"The page" is XLA's documentation of its operation semantics.
"""
