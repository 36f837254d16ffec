"""Ops by which processes communicate: groups of processes, constraints, evaluation, records."""
