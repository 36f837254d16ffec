"""Inputs drawn for a program, suited to its uses of the parameters."""
