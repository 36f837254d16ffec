"""The ops of the specification, a file (or a folder) per family, and the table of all ops."""
