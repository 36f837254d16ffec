"""Tests of what is read from users' files, and of inputs drawn for them."""
