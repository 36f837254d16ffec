"""Tests of the store and of what is compared between runs."""
