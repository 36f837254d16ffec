"""Functions of complex constants by the C++ library; results are jaxlib's."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.complex_numbers import functions
from conformance.known.xla.complex_numbers.complex_formulas import Complex
from conformance.known.xla.complex_numbers.folded_formulas import ANGLES, log
from conformance.known.xla.complex_numbers.machines import Machine
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES

NAN, INF = float("nan"), float("inf")
TINY = np.array(3.1681493062954914e-297 - 0j)

PROGRAM = """
func.func @main(PARAMETERS) -> tensor<complex<f64>> {
  CONSTANTS
  %0 = stablehlo.atan2 %y, %x : tensor<complex<f64>>
  return %0 : tensor<complex<f64>>
}"""
CONSTANTS = """
  %y = stablehlo.constant dense<(3.1681493062954914e-297, -0.0)> : tensor<complex<f64>>
  %x = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>"""
PARAMETERS = "%y: tensor<complex<f64>>, %x: tensor<complex<f64>>"


def test_there_is_a_formula_for_each_side_of_the_branch_cuts() -> None:
    assert len(ANGLES) == 4


def test_an_infinite_number_has_an_infinite_logarithm() -> None:
    machine = Machine(ELEMENT_TYPES["f64"])
    parts = (machine.exactly(np.array([one])) for one in (NAN, INF))
    size, angle = log(Complex(*parts))
    assert np.isposinf(size.value)
    assert np.isnan(angle.value)


@pytest.mark.parametrize(
    ("got", "folded", "computed"),
    [
        ((NAN, -INF), functions.RANGE, "NaN"),
        ((NAN, INF), "NaN", "NaN"),
        ((1.0, 0.0), "wrong value", "wrong value"),
    ],
)
def test_angle_of_tiny_constants_has_the_limit_of_a_logarithm(
    got: tuple[float, float], folded: str, computed: str
) -> None:
    result = np.array(complex(*got))
    for parameters, constants, inputs, label in (
        ("", CONSTANTS, (), folded),
        (PARAMETERS, "", (TINY, np.array(0j)), computed),
    ):
        text = PROGRAM.replace("PARAMETERS", parameters).replace("CONSTANTS", constants)
        program = parse_module(text)
        expected = evaluate(program, inputs)
        assert judge_operation(program, inputs, expected, (result,)).kind == label
