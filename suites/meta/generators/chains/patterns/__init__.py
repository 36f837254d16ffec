"""Tests of programs that compilers rewrite."""
