"""Near misses of XlaBuilder's ops whose instructions StableHLO lacks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from generators.invalid.chlo.sorting import top_k_misses
from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import element_type

_F32 = element_type("f32")


def _running_region(x: TensorType, carried: TensorType) -> Region:
    values = Value("x", x), Value("c", carried), Value("d", carried)
    add = Operation("add", (values[1], values[1]), (values[2],))
    return Region(values[:2], (add, Operation("return", (values[0], values[2]))))


def _scan(op: str) -> Iterator[Miss]:
    scalar, whole = tensor(_F32), tensor(_F32, 3)
    given: dict[str, Any] = {"scan_dimension": 0, "num_carries": 1}
    types, results = {"x": whole, "init": scalar}, (whole, scalar)
    body = _running_region(scalar, scalar)
    yield "P1", program(op, types, results, (body,), **given | {"scan_dimension": 1})
    yield "P2", program(op, types, results, (_running_region(whole, scalar),), **given)
    other = Value("c", tensor(_F32, 1))
    wrong = Region((body.arguments[0], other), (Operation("return", (body.arguments[0],) * 2),))
    types = {"x": whole, "init": tensor(_F32, 1)}
    yield "P3", program(op, types, (whole, tensor(_F32, 1)), (wrong,), **given)


NEAR_MISSES: dict[str, Misses] = {"Scan": _scan, "TopK": partial(top_k_misses, largest=True)}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
