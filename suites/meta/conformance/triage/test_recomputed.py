"""Operations that never round, and whose operands a compiler computed once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import extract_operation
from conformance.triage.recomputed import is_operand_recomputed
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array
from suites.meta.support.checking import values_of

PROGRAM = parse_module("""
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %y : tensor<4xf32>
  return %2 : tensor<4xf32>
}""")
INPUTS = [np.array(one, np.float32) for one in ([0.1, 0.7, 0.9, -0.4], [3, 0.3, 7, 9])]


@pytest.mark.parametrize(
    ("index", "factor", "alone", "expected"),
    [
        (1, 1 + 2**-23, 1.0, True),
        (1, 1 + 2**-23, 1 + 2**-23, False),  # wrong in isolation, too
        (1, 1.01, 1.0, False),  # no rounding error of the exponential
        (2, 1 + 2**-23, 1.0, False),  # a multiplication rounds
    ],
)
def test_operand_is_recomputed_if_an_exact_operation_is_off_only_in_its_program(
    index: int, factor: float, alone: float, *, expected: bool
) -> None:
    operation = PROGRAM.main.body.operations[index]
    values = values_of(PROGRAM, INPUTS)
    taken = extract_operation(PROGRAM, operation, values)
    assert taken is not None

    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        yield [(one * alone).astype(np.float32) for one in evaluate(program, sets[0])]

    got = [(values[operation.results[0].name] * factor).astype(np.float32)]
    found = is_operand_recomputed(run, "cpu", (PROGRAM, INPUTS), operation, taken, got)
    assert found is expected
