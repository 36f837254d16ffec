"""Tests of judgement by perturbed evaluation."""
