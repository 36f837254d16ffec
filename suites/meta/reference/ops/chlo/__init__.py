"""Tests of the ops of CHLO."""
