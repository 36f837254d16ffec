"""The cache of cases that passed or failed as known: keys, storage, and use by a run."""
