"""Building programs of one operation, and writing those of several."""
