"""Pieces of programs as material: two to eight operations, varied, written into a chain."""
