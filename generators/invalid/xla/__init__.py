"""Near misses of XlaBuilder's ops, a file for each family of reference/ops/xla/."""
