"""Results of other element types or shapes than a program states."""
