"""Values of a program, and of terms over these values."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.evaluation import BUILT, Evaluator
from conformance.known.rewritings.terms import Term
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from suites.meta.support.checking import values_of
from suites.meta.support.small_programs import array

PROGRAM = parse_module("""
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<2xf32>
  %0 = stablehlo.multiply %x, %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}""")
X, (C, PRODUCT) = (
    PROGRAM.main.arguments[0],
    [one.results[0] for one in PROGRAM.main.body.operations[:-1]],
)


def evaluator(x: list[float]) -> Evaluator:
    return Evaluator(ObservedProgram(PROGRAM, values_of(PROGRAM, (array(x),))))


def test_operation_is_a_term_over_its_operands() -> None:
    found = evaluator([1.0, 3.0]).term_of(PRODUCT)
    assert found is not None
    assert (found.op, found.operands) == ("multiply", (X, C))
    assert evaluator([1.0, 3.0]).term_of(X) is None


def test_term_is_evaluated_with_numbers_in_the_shape_of_its_values() -> None:
    value = evaluator([1.0, 3.0]).value(Term("add", (X, 10.0)))
    assert value is not None
    assert value.tolist() == [11.0, 13.0]


def test_exact_results_have_no_error_and_rounded_functions_some() -> None:
    of = evaluator([1.0, 3.0])
    assert not of.evaluate(Term("negate", (X,)), flushes=False)[1].any()
    assert (of.evaluate(Term("exponential", (X,)), flushes=False)[1] > 0).all()


def test_subnormal_values_are_flushed_where_asked() -> None:
    of = evaluator([1e-40, 1.0])
    assert of.evaluate(X, flushes=True)[0].tolist() == [0.0, 1.0]
    assert of.evaluate(X, flushes=False)[0][0] == np.float32(1e-40)


def test_constants_are_values_of_constants_only() -> None:
    of = evaluator([1.0, 1.0])
    assert of.is_constant(C)
    assert of.is_constant(Term("negate", (C,)))
    assert not of.is_constant(Term("add", (C, X)))


def test_numbers_alone_have_no_shape() -> None:
    of = evaluator([1.0, 1.0])
    assert of.value(Term("add", (1.0, 2.0))) is None
    with pytest.raises(LookupError):
        of.evaluate(Term("add", (1.0, 2.0)), flushes=False)


def test_error_of_a_correctly_rounded_result_is_a_roundoff_of_it() -> None:
    of = evaluator([1.0, 4.0])
    _, error = of.evaluate(Term("multiply", (X, 3.0)), flushes=False)
    assert (error > 0).all()
    assert (error <= 2.0**-23 * np.array([3.0, 12.0])).all()


@pytest.mark.parametrize(
    ("name", "operands", "found"),
    [
        ("sum", ([-0.0, 1.0], [0.0, 0.0]), [-0.0, 1.0]),
        ("sum", ([1.0, 1.0], [0.0, 2.0]), [1.0, 3.0]),
        ("unsigned_quotient", ([-1, 8], [2, 4]), [2**31 - 1, 2]),
        ("unsigned_remainder", ([-1, 9], [4, 8]), [3, 1]),
        ("other_zeros", ([0.0, 3.0],), [-0.0, 3.0]),
    ],
)
def test_functions_of_replacements(name: str, operands: tuple[list, ...], found: list) -> None:
    of = "f32" if isinstance(found[0], float) else "si32"
    value = BUILT[name](*(array(one, of) for one in operands))
    assert value.tolist() == found
    assert np.signbit(value).tolist() == np.signbit(found).tolist()
