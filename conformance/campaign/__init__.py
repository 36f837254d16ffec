"""Runs of many cases: planned, done in workers, resumed, replayed."""
