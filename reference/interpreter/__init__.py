"""Evaluating programs: verified, compiled to steps on frames, run."""
