"""Tests of builders of programs."""
