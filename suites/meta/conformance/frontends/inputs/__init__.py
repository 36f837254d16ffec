"""Tests of inputs drawn for a program."""
