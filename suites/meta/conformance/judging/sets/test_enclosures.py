"""Enclosures of single operations hold the results at every point of the operands' intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.sets.enclosures import Enclosures
from conformance.judging.sets.facts import stored
from conformance.judging.sets.special import SPECIAL
from conformance.judging.sets.sums import body_increases
from conformance.judging.sets.value_set import ValueSet
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.ops.table import OPS
from suites.meta.support.small_programs import op_program, tensor_of

POINTS, SIZE = 40, 6
ATTRIBUTES = {
    "compare": {"comparison_direction": "LT", "compare_type": "FLOAT"},
    "reduce_precision": {"exponent_bits": 5, "mantissa_bits": 4},
}
TO = {"compare": "i1", "real": "f32", "imag": "f32"}
WHOLE = ("and",)
OTHERS = ("select", "complex", "real", "imag")
"""Ops with operands of several types."""

MONOTONIC = {one.name for one in OPS.values() if one.monotonic and not one.twin}
REAL = sorted({*MONOTONIC, *SPECIAL} - {*OTHERS, *WHOLE})


def sampled(
    operation: Operation, low: Sequence[Array], high: Sequence[Array], whole: bool
) -> tuple[ValueSet, list[Array]]:
    """Return the set of an operation on intervals, and its results at points in them."""
    random = np.random.default_rng(1)
    nothing = np.zeros(low[0].shape, np.bool_)
    sets = [ValueSet(((a, b),), nothing) for a, b in zip(low, high, strict=True)]
    (found,) = Enclosures("cpu").of(operation, sets)
    results: list[Array] = []
    for _ in range(POINTS):
        parts = [random.uniform(0, 1, a.shape) for a in low]
        points = [
            (a + part * (b.astype(np.float64) - a)).round() if whole
            else a + part.astype(a.dtype) * (b - a)
            for a, b, part in zip(low, high, parts, strict=True)
        ]  # fmt: skip
        given = [point.astype(a.dtype) for point, a in zip(points, low, strict=True)]
        results += apply(operation, given)
    return found, results


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("op", REAL)
def test_results_inside_of_intervals_are_held(op: str, sign: int) -> None:
    record, random = OPS[op], np.random.default_rng(len(op))
    count = len(record.operands)
    low = [random.uniform(0.1, 2, SIZE).astype(np.float32) * np.float32(sign) for _ in range(count)]
    high = [one + random.uniform(0, 1, SIZE).astype(np.float32) for one in low]
    of = tensor_of(SIZE)
    result = tensor_of(SIZE, of=TO.get(op, "f32"))
    operation = op_program(op, [of] * count, result, **ATTRIBUTES.get(op, {})).subject
    assert stored(operation).name == TO.get(op, "f32")
    with np.errstate(all="ignore"):
        found, results = sampled(operation, low, high, whole=False)
    assert all(found.holds(one).all() for one in results)


@pytest.mark.parametrize("op", ["and", "remainder", "add", "multiply"])
def test_integers_inside_of_intervals_are_held(op: str) -> None:
    of = tensor_of(SIZE, of="si32")
    operation = op_program(op, [of, of], of).subject
    low = [np.full(SIZE, start, np.int32) for start in (5, 3)]
    high = [one + np.arange(SIZE, dtype=np.int32) * 3 for one in low]
    found, results = sampled(operation, low, high, whole=True)
    assert all(found.holds(one).all() for one in results)


@pytest.mark.parametrize("body", ["add", "maximum", "minimum"])
def test_folds_inside_of_intervals_are_held(body: str) -> None:
    program = parse_module(f"""
func.func @main(%x: tensor<6xf32>, %i: tensor<f32>) -> tensor<f32> {{
  %r = stablehlo.reduce(%x init: %i) applies stablehlo.{body} across dimensions = [0]
    : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}}""")
    assert body_increases(program.subject)
    low = np.linspace(-3, 2, SIZE).astype(np.float32)
    init = ValueSet.of(np.zeros((), np.float32))
    given = ValueSet(((low, low + np.float32(1)),), np.zeros(SIZE, np.bool_))
    (found,) = Enclosures("cpu").of(program.subject, [given, init])
    for part in np.random.default_rng(2).uniform(0, 1, (POINTS, SIZE)).astype(np.float32):
        assert found.holds(apply(program.subject, [low + part, init.point])[0]).all()
    assert not found.holds(np.array(1e6, np.float32))
