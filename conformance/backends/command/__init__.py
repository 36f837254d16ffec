"""Compilers behind a command: a process that answers requests on its standard input and output."""
