"""The ops of the specification, a file (or a folder) for each family, and the table of all."""
