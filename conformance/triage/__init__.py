"""Which operation of a program is to blame, and which known divergence that is."""
