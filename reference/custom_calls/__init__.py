"""Custom calls whose meaning is known, by target."""
