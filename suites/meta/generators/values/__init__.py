"""Tests of the contents of tensors."""
