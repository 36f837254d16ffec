"""Results of runs: the store, its summary, comparisons of runs and backends."""
