"""The reader of optimised HLO: from a serialised module to a program of the reference."""
