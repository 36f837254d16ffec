"""Commands that have files of their own; conformance.cli has the others."""
