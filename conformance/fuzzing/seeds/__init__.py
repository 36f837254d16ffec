"""Material for programs: pieces cut out of the user's files, and out of patterns of our own."""
