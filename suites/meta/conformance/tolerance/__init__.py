"""Tests of rules, and of models of compilers' computations."""
