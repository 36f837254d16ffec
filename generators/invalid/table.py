"""Near misses of every op: programs that break exactly one constraint."""

from __future__ import annotations

from generators.invalid.misses import Miss, Misses
from reference.ops.registry import assemble, is_not_needed

__all__ = ["NEAR_MISSES", "NOT_ALONE", "Miss", "near_misses"]

NEAR_MISSES: dict[str, Misses] = assemble(
    "generators.invalid", "NEAR_MISSES", needed=lambda record: bool(record.constraints)
)
"""What makes the near misses of each op."""

NOT_ALONE: dict[str, tuple[str, ...]] = assemble(
    "generators.invalid", "NOT_ALONE", needed=is_not_needed
)
"""Ids that no program breaks alone, by op; each family says why."""


def near_misses(op: str) -> list[Miss]:
    """(id, program) pairs: each program breaks the constraint of that id and no other.

    Raises:
        KeyError: when the op has no cases.
    """
    if op not in NEAR_MISSES:
        raise KeyError(f"no near misses for op {op!r}; known: {', '.join(NEAR_MISSES)}")
    return list(NEAR_MISSES[op](op))
