"""Tests of users' files, and of inputs drawn for them."""
