"""Tests of IREE as a backend."""
