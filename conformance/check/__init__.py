"""Programs of the user: from a file to a verdict."""
