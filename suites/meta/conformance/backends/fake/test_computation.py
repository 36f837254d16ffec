"""One right operation of a program, from which a faulty operation is made."""

from __future__ import annotations

import pytest

from conformance.backends.fake.computation import Computation
from reference.interpreter.evaluate import apply
from reference.ir.errors import EvaluationError
from reference.ir.types import element_type
from suites.meta.support.small_programs import array, op_program, tensor_of

PROGRAM = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2))
X, Y = array([1.0, 2.0]), array([10.0, 20.0])
ADD = Computation(PROGRAM, PROGRAM.subject, (X, Y), apply(PROGRAM.subject, (X, Y)), {})


def test_results_on_the_same_operands_are_not_computed_again() -> None:
    assert ADD.operands is not None
    assert ADD.right(ADD.operands) is ADD.results


def test_results_on_other_operands_and_types() -> None:
    (found,) = ADD.right((Y, Y))
    assert found.tolist() == [20.0, 40.0]
    (wide,) = ADD.giving(element_type("f64")).right((X.astype("f8"), Y.astype("f8")))
    assert (str(wide.dtype), wide.tolist()) == ("float64", [11.0, 22.0])


def test_changed_operation_is_evaluated_on_the_same_operands() -> None:
    (found,) = ADD.replace_fields(name="subtract").right((X, Y))
    assert found.tolist() == [-9.0, -18.0]
    (found,) = ADD.replace_fields(name="negate").right((X,))
    assert found.tolist() == [-1.0, -2.0]


def test_operands_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(EvaluationError):
        ADD.replace_fields(name="dot").right((X, array([[[1.0]]])))
