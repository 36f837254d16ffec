"""Ops that read and write at computed indices: the gathers and scatter."""
