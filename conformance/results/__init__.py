"""What runs came to: the store, its summary, comparisons of runs and backends."""
