"""Entries written from what is new in a run: grouped, with the smallest counterexample of each."""
