"""The time that the report of a large run takes to write and to open."""
