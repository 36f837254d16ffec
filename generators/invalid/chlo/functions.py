"""Near misses of CHLO's elementwise ops, derived from their records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.invalid.elementwise import (
    OTHER_SHAPES,
    admitted_types,
    refused_types,
    similar_types,
)
from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.constraints import collect_violations
from reference.ir.program import Program, TensorType
from reference.ops.chlo.functions import OPS as RECORDS
from reference.ops.table import OPS


def _misses(op: str) -> Iterator[Miss]:
    """Yield near misses of the operand's type (unary ops), then of equal types or the result's."""
    record = OPS[op]
    last, names = record.constraints[-1], record.operands

    def write_program(types: list[TensorType], result: TensorType) -> Program:
        return program(op, dict(zip(names, types, strict=True)), (result,))

    for of in refused_types(op) if len(names) == 1 else ():
        with collect_violations():
            result = record.infer(tensor(of, 2, 3))
        yield "P1", write_program([tensor(of, 2, 3)], result)
    for of in admitted_types(op):
        good = [tensor(of, 2, 3) for _ in names]
        result = record.infer(*good)
        for shape in OTHER_SHAPES:
            yield last, write_program(good, replace(result, shape=shape))
        for other in similar_types(result.element):
            yield last, write_program(good, tensor(other, 2, 3))
        for number in range(len(names)) if len(names) > 1 else ():
            bad = [tensor(of, 2, 4) if n == number else one for n, one in enumerate(good)]
            yield last, write_program(bad, result)


NEAR_MISSES: dict[str, Misses] = {record.name: _misses for record in RECORDS}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {
    record.name: ("P1", "P2") for record in RECORDS if len(record.operands) > 1
}
"""Ids of constraints that are violated only with others: an operand of a type that the op does not
admit differs from the other operand, or makes that inadmissible, too."""
