"""From items to outcomes: batches, splitting, confirmation, limits."""
