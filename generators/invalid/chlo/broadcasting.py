"""Near misses of CHLO's elementwise ops of several shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program, TensorType
from reference.ir.types import ALL, BOOLEAN
from reference.ops.chlo.broadcasting import OPS as RECORDS
from reference.ops.table import OPS


def _binary_misses(op: str) -> Iterator[Miss]:
    record = OPS[op]
    types = record.element_types
    of = types[len(types) // 2]
    other = next(one for one in (*types, *ALL) if one != of)
    whole, row, column = tensor(of, 2, 3), tensor(of, 3), tensor(of, 2)
    given: dict[str, Any] = {}
    if "comparison_direction" in record.attributes:
        given = {"comparison_direction": "EQ"}
    fits = record.infer(whole, whole, **given)

    def write_program(lhs: TensorType, rhs: TensorType, *places: int) -> Program:
        said: dict[str, Any] = given | ({"broadcast_dimensions": places} if places else {})
        return program(op, {"lhs": lhs, "rhs": rhs}, (fits,), **said)

    for lhs, rhs in ((whole, tensor(other, 2, 3)), (tensor(other), whole)):
        yield "P1", write_program(lhs, rhs)
    for lhs, rhs in ((whole, tensor(of, 2, 4)), (whole, column), (column, whole)):
        yield "P2", write_program(lhs, rhs)
    yield "P2", write_program(whole, row, 0)
    yield "P3", write_program(whole, row, 2)
    yield "P3", write_program(whole, row, 0, 1)
    yield "P3", write_program(column, whole, -2)
    yield "P3", write_program(whole, tensor(of, 3, 2), 1, 0)


def _select_misses(op: str) -> Iterator[Miss]:
    of, other = OPS[op].element_types[-1], OPS[op].element_types[0]
    pred, whole = tensor(BOOLEAN[0], 2, 3), tensor(of, 2, 3)

    def write_program(*types: TensorType) -> Program:
        return program(op, dict(zip(OPS[op].operands, types, strict=True)), (whole,))

    yield "P1", write_program(tensor(ALL[-1], 2, 3), whole, whole)
    yield "P2", write_program(pred, whole, tensor(other, 2, 3))
    yield "P3", write_program(pred, whole, tensor(of, 2))
    yield "P3", write_program(tensor(BOOLEAN[0], 4), whole, whole)


NEAR_MISSES: dict[str, Misses] = {
    record.name: _select_misses if "pred" in record.operands else _binary_misses
    for record in RECORDS
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
