"""Equivalent programs that do not crash the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.interpreter.rewriting import adapt
from reference.interpreter.evaluate import evaluate
from suites.meta.support.small_programs import array, op_program, tensor_of


@pytest.mark.parametrize(("op", "found"), [("divide", [7, -3]), ("remainder", [0, 0])])
def test_integers_are_divided_by_1_for_0(op: str, found: list[int]) -> None:
    of = tensor_of(2, of="si32")
    program = adapt(op_program(op, [of, of], of))
    x, y = array([7, 6], "si32"), array([0, -2], "si32")
    assert evaluate(program, [x, y])[0].tolist() == found
    assert len(program.main.body.operations) > 2


def test_quotients_of_floats_stay() -> None:
    program = op_program("divide", [tensor_of(2), tensor_of(2)], tensor_of(2))
    assert adapt(program) == program


def test_complex_numbers_are_passed_as_parts() -> None:
    of = tensor_of(1, of="complex<f32>")
    program = adapt(op_program("negate", [of], of))
    assert [one.type for one in program.main.arguments] == [tensor_of(1)] * 2
    real, imag = evaluate(program, [array([1.0]), array([-2.0])])
    assert (real.tolist(), imag.tolist()) == ([-1.0], [2.0])
    assert real.dtype == np.float32
