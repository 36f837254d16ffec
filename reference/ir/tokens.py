"""Values that are no tensors: tokens, and what an asynchronous operation promises."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Token(Enum):
    """The only value of type token: nothing but its place in the order of effects."""

    TOKEN = "the token"  # noqa: S105 - no password


TOKEN = Token.TOKEN


@dataclass(frozen=True, slots=True, eq=False)
class Future:
    """The results of an operation that was started: here it is complete as soon as it starts."""

    values: tuple[Any, ...]
