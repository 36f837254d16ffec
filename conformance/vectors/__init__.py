"""Vectors: programs, inputs and permitted results as files, for tools in any language."""
