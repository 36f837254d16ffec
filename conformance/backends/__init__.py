"""Backends: XLA, plugins and other implementations that compile and run a program."""
