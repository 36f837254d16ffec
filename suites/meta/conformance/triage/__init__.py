"""Tests of blame: which operation of a program is at fault."""
