"""Operands of elementwise operations in the shape of the result."""

from __future__ import annotations

from conformance.known.broadcasting import broadcast_operands
from suites.meta.support.small_programs import array, op_program, tensor_of

PAIR, SCALAR = array([1.0, 2.0]), array(3.0)


def operation_of(op: str, count: int, **given):
    return op_program(op, [tensor_of(2)] * count, tensor_of(2), **given).subject


def test_scalar_limits_are_broadcast() -> None:
    low, x, high = broadcast_operands(operation_of("clamp", 3), (SCALAR, PAIR, SCALAR), (2,)) or ()
    assert low.tolist() == high.tolist() == [3.0, 3.0]
    assert x.tolist() == [1.0, 2.0]


def test_operands_of_the_shape_stay() -> None:
    found = broadcast_operands(operation_of("add", 2), (PAIR, PAIR), (2,))
    assert found is not None
    assert [one.tolist() for one in found] == [[1.0, 2.0]] * 2


def test_other_shapes_determine_nothing() -> None:
    assert broadcast_operands(operation_of("add", 2), (PAIR, array([1.0])), (2,)) is None


def test_ops_that_are_not_elementwise_have_no_operands_of_an_element() -> None:
    assert broadcast_operands(operation_of("reverse", 1, dimensions=(0,)), (PAIR,), (2,)) is None
    assert broadcast_operands(operation_of("add", 2), (PAIR, None), (2,)) is None
