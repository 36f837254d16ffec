"""Known divergences: what does not fail a run."""
