"""What is read and written in other places: starts, bounds, indices, sizes known up to a bound."""
