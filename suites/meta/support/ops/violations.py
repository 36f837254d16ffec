"""The constraints that a type function finds broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference.ir.constraints import collect_violations


def violated_by(type_function: Callable[..., Any], *operands: Any, **given: Any) -> list[str]:
    """Return the ids of all broken constraints."""
    with collect_violations() as found:
        type_function(*operands, **given)
    return found.ids
