"""Results that depend on memory that is not written: known if all other elements are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.overrides import Override
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.stablehlo.parse import parse_module
from conformance.triage.audit import audit
from conformance.triage.fault import FailedProgram
from conformance.triage.unpredictable import follows_from_unpredictable
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program
from reference.ir.types import Array

PART = """
func.func @main(%x: tensor<8xcomplex<f32>>)
    -> (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) {
  %0 = stablehlo.fft %x, type = FFT, length = [4]
    : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %1 = stablehlo.add %0, %x : tensor<8xcomplex<f32>>
  %2 = stablehlo.negate %x : tensor<8xcomplex<f32>>
  return %0, %1, %2 : tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>
}"""


WRITTEN = EntryPrediction(
    "part", ("fft",), ("*",),
    """
    %i = stablehlo.iota dim = 0 : tensor<$Sxi32>
    %four = stablehlo.constant dense<4> : tensor<$Sxi32>
    %written = stablehlo.compare LT, %i, %four
      : (tensor<$Sxi32>, tensor<$Sxi32>) -> tensor<$Sxi1>
    %part = stablehlo.slice %operand [0:4] : ($operand) -> tensor<4x$E>
    %rest = stablehlo.slice %operand [4:8] : ($operand) -> tensor<4x$E>
    %first = stablehlo.fft %part, type = FFT, length = [4] : (tensor<4x$E>) -> tensor<4x$E>
    %all = stablehlo.concatenate %first, %rest, dim = 0 : (tensor<4x$E>, tensor<4x$E>) -> $T
    return %all, %written : $T, tensor<$Sxi1>
    """,
    within=2.0, unpredictable=True,
)  # fmt: skip
"""A transform of the first four elements; what is behind them is not written."""


@pytest.mark.parametrize(
    ("result", "element", "is_known"),
    [
        (None, 0, True),
        (0, 6, True),  # behind the transform
        (1, 6, True),  # added to an element behind it
        (0, 2, False),
        (1, 2, False),
        (2, 6, False),
    ],
)
def test_only_elements_that_depend_on_unwritten_memory_may_differ_in_each_run(
    result: int | None, element: int, is_known: bool
) -> None:
    random = np.random.default_rng(0)

    def run(program: Program, sets: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
        """Transform four elements; what is behind them differs in each run."""

        def partial(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
            if operation.name != "fft":
                return results
            begun = np.fft.fft(inputs[0][:4])
            return (np.concatenate([begun, random.normal(size=4) * 1e9]).astype(np.complex64),)

        for one in sets:
            yield [np.array(array) for array in evaluate(program, one, on_result=partial)]

    program, inputs = parse_module(PART), (np.arange(8).astype(np.complex64),)
    actual = next(run(program, [inputs]))
    if result is not None:
        actual[result][element] = 77
    judgement = judge_program(PermittedResults(program, inputs), actual)
    with in_force([WRITTEN]):
        found = audit(run, "cpu", program, inputs, range(3))
        assert found is not None
        failed = FailedProgram(program, inputs, actual, judgement, found)
        given = failed, found, "cpu"
        assert follows_from_unpredictable(*given, lambda _: False) == is_known
        # an entry that predicts no element of the transform says nothing about the third result
        assert follows_from_unpredictable(*given, lambda _: True) == (result != 2)


def test_a_result_that_becomes_nan_is_not_taken_from_the_backend() -> None:
    (operation,) = parse_module(PART).main.body.operations[1:2]
    expected, actual = np.array([1, 2], np.complex64), np.array([1, 3], np.complex64)
    shift = Override(operation, (expected,), (actual,))
    (found,) = shift.shift_results((np.array([np.nan, np.nan], np.complex64),))
    assert np.isnan(found).all()
    (found,) = shift.shift_results((expected + 1,))
    np.testing.assert_array_equal(found, [2, 4])
