"""The cache of cases that passed: their keys, their storage, and its use by a run."""
