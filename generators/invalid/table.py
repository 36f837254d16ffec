"""Near misses of every op: programs that break exactly one constraint."""

from __future__ import annotations

from generators.invalid import (
    contraction,
    control_flow,
    convolution,
    data_movement,
    dynamism,
    elementwise,
    fft,
    gathering,
    host,
    linear_algebra,
    normalization,
    quantization,
    random,
    reduction,
    sorting,
)
from generators.invalid.misses import Miss, Misses

__all__ = ["NEAR_MISSES", "NOT_ALONE", "Miss", "near_misses"]

_FAMILIES = (
    elementwise, data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

NEAR_MISSES: dict[str, Misses] = {
    op: misses for family in _FAMILIES for op, misses in family.NEAR_MISSES.items()
}
"""What makes the near misses of each op."""

NOT_ALONE: dict[str, tuple[str, ...]] = {
    op: ids for family in _FAMILIES for op, ids in family.NOT_ALONE.items()
}
"""Ids that no program breaks alone, by op; each family says why."""


def near_misses(op: str) -> list[Miss]:
    """(id, program) pairs: each program breaks the constraint of that id and no other.

    Raises:
        KeyError: when the op has no cases.
    """
    if op not in NEAR_MISSES:
        raise KeyError(f"no near misses for op {op!r}; known: {', '.join(NEAR_MISSES)}")
    return list(NEAR_MISSES[op](op))
