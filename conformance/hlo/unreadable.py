"""The error for modules that the reader of HLO cannot read."""

from __future__ import annotations


class Unreadable(Exception):
    """A module holds a construct that programs of the reference cannot express.

    Attributes:
        construct: the name that reports count by, such as `custom-call foo` or `opcode bar`.
        reason: one line that says what is missing.
    """

    def __init__(self, construct: str, reason: str) -> None:
        """Store the construct that cannot be read, and the reason."""
        super().__init__(construct, reason)
        self.construct = construct
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.construct}: {self.reason}"
