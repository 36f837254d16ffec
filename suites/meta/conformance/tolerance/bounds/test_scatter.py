"""Bounds of scattered updates by hand: sums, products, bodies that round, and data."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.tolerance.bounds.scatter import SCATTERED_UPDATES, sum_or_product_bound
from generators.regions.bodies import BodyBuilder, fold_of
from reference.interpreter.evaluate import body_of, evaluate
from reference.ir.program import Program, Region
from reference.ir.types import Array
from reference.ops.indexed.update_orders import decompose_scatter
from suites.meta.support.ops.gathering import F16, F32, points
from suites.meta.support.small_programs import array

U = 2.0**-24
INDICES = array([0, 0, 1], "si32")
UPDATES = array([0.1, 0.3, 0.7])
START = array([1.1, 1.3, 1.7])


def scatter_program(body: Region, updates: Array = UPDATES) -> Program:
    of = F16 if updates.dtype == np.float16 else F32
    return points(of, 3, len(updates), body)


def bound_of(op: str) -> list[float]:
    """Return the bound of each element: the first has two updates, the second one update."""
    made = scatter_program(fold_of(op, F32).region)
    given = (START, INDICES, UPDATES)
    assert SCATTERED_UPDATES.bound is not None
    (found,) = SCATTERED_UPDATES.bound(made.subject, given, evaluate(made, given))
    assert found is not None
    return found.tolist()


def test_two_updates_add_with_two_roundings() -> None:
    """(n - 1) u times the sum of magnitudes, 1.5, for n = 3 terms; u times the result for ours."""
    assert bound_of("add") == [pytest.approx(U * (2 * 1.5 + 1.5), rel=1e-6), 0, 0]


def test_two_updates_multiply_with_a_rounding_for_each_factor() -> None:
    """((1 + u)^3 - 1) times the product, 0.033: two products, and u for our result."""
    assert bound_of("multiply") == [pytest.approx(U * 3 * 0.033, rel=1e-5), 0, 0]


def test_an_op_that_is_no_sum_rounds_once_for_each_update() -> None:
    made = bound_of("subtract")
    assert made == [pytest.approx(2 * U * 0.7, rel=1e-6), pytest.approx(U * 0.6, rel=1e-6), 0]


def test_maxima_are_data() -> None:
    made = scatter_program(fold_of("maximum", F32).region)
    given = (START, INDICES, UPDATES)
    assert SCATTERED_UPDATES.bound is not None
    assert SCATTERED_UPDATES.bound(made.subject, given, evaluate(made, given)) == (None,)


def test_sums_without_rounding_are_exact() -> None:
    """1 + 2 + 4 in any order; 1 + 2^-24 is not in f32."""
    body = fold_of("add", F32).region
    for last, exact in ((4.0, True), (2.0**-24, False)):
        updates = array([2.0, last, 0.0])
        made, given = scatter_program(body), (array([1.0, 1.0, 1.0]), INDICES, updates)
        parts = decompose_scatter(made.subject, given, body_of(made.subject.regions[0]))
        bound = sum_or_product_bound(parts, evaluate(made, given)[0])
        assert bool(bound[0] == 0) is exact


def zeros_of(op: str, first: float) -> list[bool] | None:
    made = scatter_program(fold_of(op, F32).region)
    given = (array([first, -0.0, 0.0]), INDICES, array([-first, 0.0, 0.0]))
    assert SCATTERED_UPDATES.either_zero is not None
    (found,) = SCATTERED_UPDATES.either_zero(made.subject, given, evaluate(made, given))
    return None if found is None else found.tolist()


def test_zeros_of_sums_have_one_sign_and_zeros_of_other_bodies_either() -> None:
    assert zeros_of("add", 1.0) is None
    assert zeros_of("subtract", 0.0) == [True, True, False]  # the last element has no update


def test_subnormal_numbers_are_lost_in_sums_of_types_that_hardware_flushes() -> None:
    assert SCATTERED_UPDATES.flush_loss is not None
    small = 2.0**-130
    made = scatter_program(fold_of("add", F32).region)
    given = (array([small, 1.0, small]), INDICES, array([small, small, small]))
    (lost,) = SCATTERED_UPDATES.flush_loss(made.subject, given, evaluate(made, given))
    assert lost is not None
    assert lost[0] >= 3 * small
    assert lost[1] >= small
    made = scatter_program(fold_of("add", F16).region, array([1.0, 1.0, 1.0], "f16"))
    halves = (array([1, 1, 1], "f16"), INDICES, array([1, 1, 1], "f16"))
    assert SCATTERED_UPDATES.flush_loss(made.subject, halves, evaluate(made, halves)) == (None,)


@pytest.mark.parametrize(("got", "wrong"), [(3.0, False), (4.0, False), (1.0, True)])
def test_a_replaced_element_is_one_of_its_updates(got: float, wrong: bool) -> None:
    body = BodyBuilder.of(F32, F32)
    made = scatter_program(body.finish_region(body.arguments[1]))
    given = (array([1.0, 1.0, 1.0]), INDICES, array([3.0, 4.0, 5.0]))
    actual = (array([got, 5.0, 1.0]),)
    assert SCATTERED_UPDATES.excludes is not None
    (found,) = SCATTERED_UPDATES.excludes(made.subject, given, evaluate(made, given), actual)
    marked = [mask.tolist() for label, mask in found if label == "no possible order"]
    assert marked == [[wrong, False, False]]


@pytest.mark.parametrize(("got", "wrong"), [(0.7, False), (0.70000005, False), (0.71, True)])
def test_a_difference_is_that_of_some_order_up_to_rounding(got: float, wrong: bool) -> None:
    made = scatter_program(fold_of("subtract", F32).region)
    given = (START, INDICES, UPDATES)
    expected = evaluate(made, given)
    actual = expected[0].copy()
    actual[0] = got
    assert SCATTERED_UPDATES.excludes is not None
    ((found,),) = SCATTERED_UPDATES.excludes(made.subject, given, expected, (actual,))
    assert found[0] == "no possible order"
    assert found[1].tolist() == [wrong, False, False]
