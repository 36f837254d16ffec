"""Run every cell of the catalog on a backend, by default XLA's CPU."""
