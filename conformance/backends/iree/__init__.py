"""IREE as a backend."""
