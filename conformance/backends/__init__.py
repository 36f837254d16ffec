"""Backends: what compiles and runs a program."""
