"""Near misses of CHLO's top_k."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.types import ELEMENT_TYPES

_F32, _F64, _SI32, _SI64 = (ELEMENT_TYPES[name] for name in ("f32", "f64", "si32", "si64"))


def top_k_misses(op: str, **given: Any) -> Iterator[Miss]:
    """Yield near misses of P1 (an operand without dimensions) and P2 (too few elements for k)."""
    for id_, shape, k in (("P1", (), 0), ("P2", (3,), 4), ("P2", (3,), -1), ("P2", (2, 0), 1)):
        size = (*shape[:-1], max(k, 0))
        results = (tensor(_F32, *size), tensor(_SI32, *size))
        yield id_, program(op, {"operand": tensor(_F32, *shape)}, results, k=k, **given)


def _top_k(op: str) -> Iterator[Miss]:
    """Yield near misses of P1, P2, and P3: element types and sizes of the results."""
    yield from top_k_misses(op)
    for values, indices in (
        (tensor(_F64, 2, 3), tensor(_SI32, 2, 3)),
        (tensor(_F32, 2, 3), tensor(_SI64, 2, 3)),
        (tensor(_F32, 2, 5), tensor(_SI32, 2, 3)),
        (tensor(_F32, 2, 3), tensor(_SI32, 2, 5)),
        (tensor(_F32, 3), tensor(_SI32, 3)),
    ):
        yield "P3", program(op, {"operand": tensor(_F32, 2, 5)}, (values, indices), k=3)


NEAR_MISSES: dict[str, Misses] = {"chlo.top_k": _top_k}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
