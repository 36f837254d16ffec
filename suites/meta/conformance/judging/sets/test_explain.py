"""The worst element of a program's results, and its set, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.sets.explain import describe_set, explain_worst_element
from conformance.judging.sets.value_set import ValueSet, union
from conformance.stablehlo.parse import parse_module
from reference.ir.types import ELEMENT_TYPES

F32 = "tensor<2xf32>"
PROGRAM = f"""func.func @main(%a: {F32}, %b: {F32}, %c: {F32}) -> {F32} {{
  %p = stablehlo.multiply %a, %b : {F32}
  %r = stablehlo.subtract %p, %c : {F32}
  return %r : {F32}
}}"""
A, B = np.float32(1.1), np.float32(1.3)
ERROR = np.float32(float(A) * float(B) - float(A * B))


def explain(numbers: Sequence[float]) -> str:
    inputs = [np.full(2, one, np.float32) for one in (A, B, A * B)]
    permitted = PermittedResults(parse_module(PROGRAM), inputs)
    return explain_worst_element(permitted, [np.array(numbers, np.float32)])


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([0.0, ERROR], ["result 0 at [1]", "only where a compiler contracts"]),
        ([1.0, 0.0], ["result 0 at [0], 1.0", "evaluations that move its intermediate results"]),
        ([0.0, 0.0], []),
    ],
)
def test_the_worst_element_is_explained(numbers: Sequence[float], told: Sequence[str]) -> None:
    text = explain(numbers)
    assert bool(text) is bool(told)
    assert all(one in text for one in told)


def test_sets_are_written_as_their_outcomes() -> None:
    one, two, three = (np.array([number], np.float32) for number in (1.0, 2.0, 3.0))
    nan = np.array([True])
    assert describe_set(ValueSet.of(one)) == "1.0"
    assert describe_set(union([(one, two), (three, three)], nan)) == "1.0 to 2.0 or 3.0 or NaN"
    assert describe_set(ValueSet.everything((1,), ELEMENT_TYPES["f32"])) == "any f32"
