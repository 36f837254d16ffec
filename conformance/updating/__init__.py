"""Entries for new failures of a run: grouped, each with a minimised counterexample."""
