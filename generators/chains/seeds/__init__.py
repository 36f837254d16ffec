"""Fragments of programs as seeds: two to eight operations, varied, and added to a chain."""
