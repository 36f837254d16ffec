"""New failures that known divergences would hide."""
