"""Entries written for new failures of a run: grouped, each with its smallest counterexample."""
