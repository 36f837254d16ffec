"""Material for programs: fragments cut out of the user's files, and out of the shipped patterns."""
