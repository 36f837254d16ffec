"""Tests of checks of the user's own programs."""
