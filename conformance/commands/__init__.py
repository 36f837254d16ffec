"""Commands of the command line with files of their own; conformance.cli has the others."""
