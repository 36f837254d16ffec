"""Near misses of the ops of CHLO, a file per family."""
