"""Builders of programs of one operation, and writers of programs of several."""
