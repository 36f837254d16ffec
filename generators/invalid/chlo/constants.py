"""Near misses of CHLO's constants."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from generators.invalid import elementwise
from generators.invalid.elementwise import OTHER_SHAPES, admitted_types, similar_types
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.xla.restated import restate_misses
from reference.ir.program import Dense, Scalar
from reference.ops.chlo.constants import OPS as RECORDS

_CONSTANT, _LIKE = RECORDS


def _constant_like(op: str) -> Iterator[Miss]:
    """Yield near misses of P1 (another element type, or a tensor) and P2 (another shape)."""
    for of in admitted_types(op):
        operand, scalar = {"operand": tensor(of, 2, 3)}, tensor(of)
        value = Scalar.of(np.zeros((), of.storage), scalar)
        for other in similar_types(of):
            yield "P1", program(op, operand, (tensor(other, 2, 3),), value=value)
        yield "P1", program(op, operand, (tensor(of, 2, 3),), value=Dense(scalar, value.data))
        for shape in OTHER_SHAPES:
            yield "P2", program(op, operand, (tensor(of, *shape),), value=value)


NEAR_MISSES: dict[str, Misses] = {
    _CONSTANT.name: restate_misses(elementwise.NEAR_MISSES["constant"]),
    _LIKE.name: _constant_like,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
