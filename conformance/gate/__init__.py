"""Known divergences: expectations, baselines, comparisons of runs, exit codes."""
