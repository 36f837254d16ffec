"""Tests of compilers without their devices."""
