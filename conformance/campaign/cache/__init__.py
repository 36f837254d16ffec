"""The cache of cases that passed: what identifies them, where they are kept, how a run uses it."""
