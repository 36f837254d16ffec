"""Tests of rules, and of models of what compilers compute instead."""
