"""Localisation of the operation at fault in a program that fails only as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from conformance.stablehlo.parse import parse_module
from conformance.triage.localise import LocatedOperation, Search
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array

TEXT = """
func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = stablehlo.negate %x : tensor<2xf32>
  %1 = stablehlo.add %0, %0 : tensor<2xf32>
  %2 = stablehlo.multiply %x, %x : tensor<2xf32>
  return %1, %2 : tensor<2xf32>, tensor<2xf32>
}"""


def first_wrong(wrong: str) -> LocatedOperation | None:
    """Return the localisation if a value is wrong in every program with a product."""

    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        names = [value.name for value in program.main.body.operations[-1].operands]
        has_product = any(one.name == "multiply" for one in program.walk())
        for inputs in sets:
            results = zip(names, evaluate(program, inputs), strict=True)
            yield [array + 5 * (has_product and name == wrong) for name, array in results]

    given = (np.array([1, 2], np.float32),)
    return Search(run, "cpu").locate(parse_module(TEXT), given, Verdict.DIVERGENT)


def test_an_operation_that_only_lets_another_go_wrong_is_not_named() -> None:
    for wrong, name in (("2", "multiply"), ("1", "add")):
        found = first_wrong(wrong)
        assert found is not None
        assert found.operation.name == name
    assert first_wrong("none") is None


UNUSED = """
func.func @main(%x: tensor<2xf32>, %p: tensor<2xi1>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32>
  %1 = stablehlo.abs %x : tensor<2xf32>
  %2 = stablehlo.select %p, %0, %1 : tensor<2xi1>, tensor<2xf32>
  %3 = stablehlo.multiply %2, %x : tensor<2xf32>
  return %3 : tensor<2xf32>
}"""


def test_a_wrong_value_that_nothing_uses_is_not_named() -> None:
    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        names = [value.name for value in program.main.body.operations[-1].operands]
        for inputs in sets:
            results = zip(names, evaluate(program, inputs), strict=True)
            yield [array + 5 * (name in ("0", "3")) for name, array in results]

    x = np.array([1, 2], np.float32)
    for taken, name in ((False, "multiply"), (True, "negate")):
        given = (x, np.array([taken, taken]))
        found = Search(run, "cpu").locate(parse_module(UNUSED), given, Verdict.DIVERGENT)
        assert found is not None
        assert found.operation.name == name
