"""Custom calls with a known meaning, by target."""
