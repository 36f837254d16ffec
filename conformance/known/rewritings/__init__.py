"""Rewritings of several operations of a program by compilers."""
