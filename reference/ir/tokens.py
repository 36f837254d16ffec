"""Values that are not tensors: tokens and futures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Token(Enum):
    """The only value of type token; it carries no data."""

    TOKEN = "the token"  # noqa: S105 - no password


TOKEN = Token.TOKEN


@dataclass(frozen=True, slots=True, eq=False)
class Future:
    """The results of a started operation; the reference completes it as soon as it starts."""

    values: tuple[Any, ...]
