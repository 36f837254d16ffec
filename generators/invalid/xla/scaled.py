"""Near misses of XlaBuilder's product of operands with scales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program
from reference.ir.types import element_type
from reference.ops.xla.contraction import DotDimensionNumbers

_OF, _SCALES = element_type("f8E4M3FN"), element_type("f8E8M0FNU")

Sizes = tuple[int, ...]


def _product(op: str, numbers: DotDimensionNumbers, *shapes: Sizes, **given: Any) -> Program:
    """Return the product of lhs, its scale, rhs, its scale; the result's shape is last."""
    names = ("lhs", "lhs_scale", "rhs", "rhs_scale")
    of = (_OF, _SCALES) * 2
    *operands, result = shapes
    types = {
        name: tensor(one, *shape) for name, one, shape in zip(names, of, operands, strict=True)
    }
    return program(op, types, (tensor(_OF, *result),), dimension_numbers=numbers, **given)


def _scaled_dot(op: str) -> Iterator[Miss]:
    plain = DotDimensionNumbers((1,), (0,))
    for contracting, batch in (
        (((1,), (1,)), ((), ())), (((2,), (0,)), ((), ())), (((1,), (-1,)), ((), ())),
        (((1,), (0,)), ((0,), (1,))), (((1,), (0,)), ((-1,), (1,))),
    ):  # fmt: skip
        numbers = DotDimensionNumbers(*contracting, *batch)
        yield (
            "P2" if batch[0] else "P1",
            _product(op, numbers, (2, 6), (2, 3), (6, 4), (3, 4), (2, 4)),
        )
    for left, right in (((2,), (3, 4)), ((2, 3, 1), (3, 4)), ((2, 3), ()), ((2, 3), (1, 3, 4))):
        yield "P3", _product(op, plain, (2, 6), left, (6, 4), right, (2, 4))
    for left, right in (
        ((2, 4), (3, 4)), ((2, 3), (12, 4)), ((2, 3), (3, 8)), ((0, 3), (3, 4)), ((4, 3), (3, 4)),
    ):  # fmt: skip
        yield "P4", _product(op, plain, (2, 6), left, (6, 4), right, (2, 4))


NEAR_MISSES: dict[str, Misses] = {"ScaledDot": _scaled_dot}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
