"""Field types that several outputs share, and the description of a field."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A count: an integer that is not negative."""

State = Literal[
    "pass", "unspecified", "unsupported", "not_judged", "flushed", "inaccurate", "divergent",
    "rejected", "accepted", "timed_out", "crashed", "untested",
]  # fmt: skip
"""The state of a cell: a verdict, or planned and not run."""

SavedVerdict = Literal[
    "pass", "unspecified", "unsupported", "not_judged", "flushed", "inaccurate", "divergent",
    "rejected", "accepted", "timed_out", "crashed", "no answer",
]  # fmt: skip
"""A verdict, or that the process ended without one."""

Version = Annotated[str, msgspec.Meta(pattern=r"^1\.[0-9]+$")]
"""The version of a schema that a reader of any version 1 of it can read."""


def about(description: str) -> msgspec.Meta:
    """Return metadata that describes a field: its meaning and unit."""
    return msgspec.Meta(description=description)
