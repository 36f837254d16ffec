"""Near misses of the ops of reference/ops/ragged.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32, _SI32, _I1 = (ELEMENT_TYPES[name] for name in ("f32", "si32", "i1"))

Sizes = tuple[int, ...]
_ROWS: dict[str, Sizes] = {
    "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
    "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
    "lhs_ragged_dimensions": (0,), "rhs_group_dimensions": (0,),
}  # fmt: skip
_BATCHED: dict[str, Sizes] = {
    "lhs_batching_dimensions": (0,), "rhs_batching_dimensions": (1,),
    "lhs_contracting_dimensions": (2,), "rhs_contracting_dimensions": (2,),
    "lhs_ragged_dimensions": (1,), "rhs_group_dimensions": (0,),
}  # fmt: skip


def _rows(
    op: str, *, lhs: Sizes = (5, 2), result: Sizes = (5, 4), groups: Sizes = (3,),
    of: ElementType = _SI32, **given: Any,
) -> Program:  # fmt: skip
    """Return a product of 5 rows in 3 groups, with some parts changed."""
    types = {
        "lhs": tensor(_F32, *lhs), "rhs": tensor(_F32, 3, 2, 4), "group_sizes": tensor(of, *groups),
    }  # fmt: skip
    return program(op, types, (tensor(_F32, *result),), (), **_ROWS | given)


def _batched(op: str, *, lhs: Sizes = (2, 5, 2), groups: Sizes = (3,), **given: Sizes) -> Program:
    """Return a product of 2 batches of 5 rows in 3 groups, with some parts changed."""
    types = {
        "lhs": tensor(_F32, *lhs), "rhs": tensor(_F32, 3, 2, 2, 4),
        "group_sizes": tensor(_SI32, *groups),
    }  # fmt: skip
    return program(op, types, (tensor(_F32, 2, 5, 4),), (), **_BATCHED | given)


def _dimensions(op: str) -> Iterator[Miss]:
    """Yield near misses of P2 to P11, which are those of a product without groups."""
    for side in ("lhs", "rhs"):
        yield "P2", _batched(op, **{f"{side}_batching_dimensions": ()})
        yield "P3", _batched(op, **{f"{side}_contracting_dimensions": ()})
    yield "P4", _batched(op, lhs_contracting_dimensions=(0,))
    yield "P5", _batched(op, rhs_contracting_dimensions=(1,))
    twice = {"lhs_batching_dimensions": (), "rhs_batching_dimensions": ()}
    yield (
        "P4",
        _batched(op, **twice, lhs_contracting_dimensions=(2, 2), rhs_contracting_dimensions=(1, 2)),
    )
    yield (
        "P5",
        _batched(op, **twice, lhs_contracting_dimensions=(0, 2), rhs_contracting_dimensions=(2, 2)),
    )
    for bad in (4, -1):
        yield "P6", _batched(op, lhs_batching_dimensions=(bad,))
        yield "P7", _batched(op, lhs_contracting_dimensions=(bad,))
        yield "P8", _batched(op, rhs_batching_dimensions=(bad,))
        yield "P9", _batched(op, rhs_contracting_dimensions=(bad,))
    yield "P10", _batched(op, lhs=(3, 5, 2))
    yield "P11", _batched(op, lhs=(2, 5, 3))
    yield "P11", _rows(op, lhs=(5, 3))


def _groups(op: str) -> Iterator[Miss]:
    """Yield near misses of P12 to P19: the ragged dimension, group sizes, group dimensions."""
    for ragged in ((), (0, 1)):
        yield "P12", _rows(op, lhs_ragged_dimensions=ragged)
    for ragged in ((2,), (-1,)):
        yield "P13", _rows(op, lhs_ragged_dimensions=ragged)
    for groups in ((), (5, 3), (1, 3)):
        yield "P14", _rows(op, groups=groups)
    for groups in ((3, 3), (2, 5, 3)):
        yield "P14", _batched(op, groups=groups)
    for group in ((3,), (-1,)):
        yield "P15", _rows(op, rhs_group_dimensions=group)
    yield "P16", _rows(op, rhs_group_dimensions=(1,))
    yield "P16", _batched(op, rhs_group_dimensions=(1,))
    yield "P16", _rows(op, rhs_group_dimensions=(0, 0))
    yield "P17", _rows(op, rhs_group_dimensions=())
    yield "P17", _rows(op, rhs_group_dimensions=(0, 2))
    yield "P17", _rows(op, lhs_ragged_dimensions=(1,))
    yield "P17", _batched(op, lhs_ragged_dimensions=(0,))
    for groups in ((4,), (1,), (0,)):
        yield "P18", _rows(op, groups=groups)
    for of in (_F32, _I1):
        yield "P19", _rows(op, of=of)


def _ragged_dot(op: str) -> Iterator[Miss]:
    """Yield near misses of P1 and P20, and of dimensions and groups."""
    for precisions in (("DEFAULT",) * 3, ("LOWEST", "DEFAULT")):
        yield "P1", _rows(op, precision_config=precisions)
    yield from _dimensions(op)
    yield from _groups(op)
    for result in ((4, 5), (5, 5), (5,), (5, 4, 1), (3, 5, 4)):
        yield "P20", _rows(op, result=result)


NEAR_MISSES: dict[str, Misses] = {"chlo.ragged_dot": _ragged_dot}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
