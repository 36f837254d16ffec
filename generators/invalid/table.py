"""Near misses of every op: programs that violate exactly one constraint."""

from __future__ import annotations

from generators.invalid.misses import Miss, Misses
from reference.ops.registry import assemble, is_not_needed

__all__ = ["INSEPARABLE", "NEAR_MISSES", "Miss", "near_misses"]

NEAR_MISSES: dict[str, Misses] = assemble(
    "generators.invalid", "NEAR_MISSES", needed=lambda record: bool(record.constraints)
)
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = assemble(
    "generators.invalid", "INSEPARABLE", needed=is_not_needed
)
"""Ids of constraints that are violated only with others, by op; each family gives the reason."""


def near_misses(op: str) -> list[Miss]:
    """Return (id, program) pairs: each program violates the constraint of that id and no other.

    Raises:
        KeyError: if the op has no cases.
    """
    if op not in NEAR_MISSES:
        raise KeyError(f"no near misses for op {op!r}; known: {', '.join(NEAR_MISSES)}")
    return list(NEAR_MISSES[op](op))
