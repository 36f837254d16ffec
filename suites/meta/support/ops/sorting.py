"""Programs of sort, for tests."""

from __future__ import annotations

from typing import Any

from conformance.judging.compare import judge
from conformance.tolerance.bounds.sorting import SORTED
from conformance.verdict import Verdict
from generators.invalid.misses import program
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program, Region, TensorType
from reference.ir.types import ELEMENT_TYPES, Array
from reference.ops.sorts.comparators import order_of

F32, F64, BF16, SI32, SI64, UI8, I1, C64 = (
    ELEMENT_TYPES[name]
    for name in ("f32", "f64", "bf16", "si32", "si64", "ui8", "i1", "complex<f32>")
)


def compare_first(*of: Any, way: str = "LT", kind: str | None = None) -> Region:
    """Return a comparator of the first operand."""
    block = BodyBuilder.of(*(one for one in of for _ in range(2)))
    lhs, rhs = block.arguments[:2]
    if kind is None:
        return block.finish_region(block.compare(lhs, rhs, way))
    given = {"comparison_direction": way, "compare_type": kind}
    return block.finish_region(block.op("compare", lhs, rhs, to=I1, **given))


def sort_of(
    comparator: Region, *types: TensorType, dimension: int = 0, stable: bool = True
) -> Program:
    named = {f"input{n}": of for n, of in enumerate(types)}
    return program("sort", named, types, (comparator,), dimension=dimension, is_stable=stable)


def keys(region: Region) -> list[tuple[str, str, bool]] | None:
    order = order_of(region)
    if order is None:
        return None
    return [(key.value.name, key.compare_type, key.descending) for key in order.keys]


def judge_result(made: Program, inputs: list[Array], actual: list[Array]) -> tuple[Verdict, str]:
    found = judge(made, inputs, evaluate(made, inputs), actual, SORTED)
    return found.verdict, found.kind
