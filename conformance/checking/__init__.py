"""Check of the user's programs: from a file to a verdict."""
