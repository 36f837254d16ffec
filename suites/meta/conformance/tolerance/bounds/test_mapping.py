"""Errors that the operations of a mapped computation can make of its result."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.bounds.mapping import map_bound, map_rule
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Region, Value, single_op
from suites.meta.support.small_programs import array, tensor_of

U = 2.0**-24
X = array([1.0, 2.0])


def map_of(*ops: str) -> Operation:
    """Return a map of unary ops, one after the other."""
    values = [Value(f"b{n}", tensor_of()) for n in range(len(ops) + 1)]
    body = [Operation(op, (values[n],), (values[n + 1],)) for n, op in enumerate(ops)]
    region = Region((values[0],), (*body, Operation("return", (values[-1],), ())))
    return single_op(
        "map", (Value("x", tensor_of(2)),), (tensor_of(2),), {"dimensions": (0,)}, (region,)
    ).subject


def bound(*ops: str, ulps: float = 1.0) -> np.ndarray | None:
    operation = map_of(*ops)
    result = X
    for op in ops:
        program = single_op(op, (Value("x", tensor_of(2)),), (tensor_of(2),))
        (result,) = evaluate(program, (result,))
    (found,) = map_bound(operation, (X,), (result,), lambda _: ulps)
    return found


@pytest.mark.parametrize("ops", [("negate",), ("sqrt",), ("negate", "sqrt"), ("abs", "negate")])
def test_a_single_correct_rounding_is_exact(ops: tuple[str, ...]) -> None:
    assert bound(*ops) is None


def test_an_operation_moves_the_result_by_its_budget() -> None:
    found = bound("exponential", ulps=3.0)
    assert found is not None
    assert found == pytest.approx((U + 3 * 2 * U) * np.exp(X), rel=0.1)


def test_errors_of_operations_add_up() -> None:
    """exp(exp(x)) moves by exp(x) times the relative error of exp(x)."""
    found = bound("exponential", "exponential", ulps=1.0)
    assert found is not None
    inner = np.exp(X.astype(np.float64))
    assert found == pytest.approx((U + 2 * U * inner + 2 * U) * np.exp(inner), rel=0.2)


def test_rule_permits_parts_within_the_bound() -> None:
    rule = map_rule(lambda _: 1.0)
    assert rule.bound is not None
    assert rule.bound(map_of("negate"), (X,), (-X,)) == (None,)
