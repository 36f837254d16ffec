"""Evaluation of programs: verification, compilation to steps on frames, execution."""
