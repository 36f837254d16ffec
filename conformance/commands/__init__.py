"""The commands of the command line that have files of their own; conformance.cli has the others."""
