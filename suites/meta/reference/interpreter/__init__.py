"""Tests of the evaluation of programs."""
