"""Products with sparse matrices are judged by the sums over their stored elements."""

from __future__ import annotations

import numpy as np

from conformance.catalog import rule_of
from conformance.tolerance.bounds.sparse import STORED
from reference.custom_calls.sparse import CSR
from reference.custom_calls.targets import call_built_in
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.small_programs import array, op_program, tensor_of

INDPTR, INDICES = np.array([0, 40, 100], np.int32), np.arange(100, dtype=np.int32) % 50
PRODUCT = op_program(
    "custom_call",
    [tensor_of(100), tensor_of(3, of="si32"), tensor_of(100, of="si32"), tensor_of(50)],
    tensor_of(2),
    call_target_name=CSR,
).subject


def errors(operation: Operation, values: Array, dense: Array, actual: Array) -> list[float]:
    operands = (values, INDPTR, INDICES, dense)
    expected = call_built_in(CSR, operands, {})
    assert STORED.measure is not None
    return STORED.measure(operation, operands, expected, (actual,))[0].tolist()


def test_calls_of_the_target_have_the_rule() -> None:
    assert rule_of(PRODUCT) is STORED


def test_sums_in_any_order_are_permitted_and_others_are_not() -> None:
    random = np.random.default_rng(1)
    values, dense = array(random.normal(size=100), "f32"), array(random.normal(size=50), "f32")
    products = values * dense[INDICES]
    rows = (products[:40], products[40:])
    for order in (slice(None), slice(None, None, -1)):
        sums = array([np.cumsum(one[order])[-1] for one in rows], "f32")
        assert max(errors(PRODUCT, values, dense, sums)) <= 1
    first = array([products[1:40].sum(), products[40:].sum()], "f32")
    assert [error > 1 for error in errors(PRODUCT, values, dense, first)] == [True, False]


def test_sums_of_integers_are_exact() -> None:
    values, dense = array(np.arange(100.0), "f32"), array(np.ones(50), "f32")
    exact = array([np.arange(40).sum(), np.arange(40, 100).sum()], "f32")
    assert errors(PRODUCT, values, dense, exact) == [0, 0]
    assert errors(PRODUCT, values, dense, np.nextafter(exact, array(np.inf, "f32")))[0] > 1
