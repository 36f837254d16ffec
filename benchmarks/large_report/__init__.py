"""Time to write and to open the report of a large run."""
