"""Judging programs of several operations by perturbed evaluation."""
