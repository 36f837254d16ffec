"""Inputs drawn for a program, suited to the uses of its parameters."""
