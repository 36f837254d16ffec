"""Compilers run without their device: programs are compiled ahead of time, never executed."""
