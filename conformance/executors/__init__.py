"""Worker processes, which may die or hang without harm."""
