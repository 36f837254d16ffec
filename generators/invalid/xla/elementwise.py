"""Near misses of XlaBuilder's elementwise ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program, TensorType
from reference.ir.types import ALL
from reference.ops.table import OPS
from reference.ops.xla.elementwise import OPS as RECORDS


def _binary_misses(op: str) -> Iterator[Miss]:
    types = OPS[op].element_types
    of = types[len(types) // 2]
    other = next(one for one in (*types, *ALL) if one != of)
    whole, row, column = tensor(of, 2, 3), tensor(of, 3), tensor(of, 2)

    def write_program(lhs: TensorType, rhs: TensorType, **given: Any) -> Program:
        fits = OPS[op].infer(whole, whole)
        return program(op, {"lhs": lhs, "rhs": rhs}, (fits,), **given)

    for lhs, rhs in ((whole, tensor(other, 2, 3)), (tensor(other), whole)):
        yield "P1", write_program(lhs, rhs)
    for lhs, rhs in ((whole, tensor(of, 2, 4)), (whole, row), (row, whole)):
        yield "P2", write_program(lhs, rhs)
    yield "P2", write_program(whole, row, broadcast_dimensions=(0,))
    yield "P3", write_program(whole, row, broadcast_dimensions=(2,))
    yield "P3", write_program(whole, row, broadcast_dimensions=(0, 1))
    yield "P3", write_program(column, whole, broadcast_dimensions=(-2,))
    yield "P3", write_program(whole, tensor(of, 3, 2), broadcast_dimensions=(1, 0))


NEAR_MISSES: dict[str, Misses] = {
    record.name: _binary_misses for record in RECORDS if record.operands == ("lhs", "rhs")
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
