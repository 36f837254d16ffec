"""Inputs drawn for a program by what it does with its parameters."""
