"""Sets of values: unions, and what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.sets.value_set import WIDE, ValueSet, greater, lesser, union
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import array

F32 = ELEMENT_TYPES["f32"]


def test_a_set_holds_the_ends_of_its_intervals_and_what_lies_between() -> None:
    low, high = array([0.0, 5.0, -1.0]), array([1.0, 6.0, -1.0])
    found = ValueSet(((low, high),), np.array([False, False, True]))
    assert found.holds(array([0.5, 6.0, np.nan])).all()
    assert not found.holds(array([-0.5, np.nan, -2.0])).any()
    assert not found.is_point
    assert ValueSet.of(low).is_point


def test_the_nearest_intervals_are_joined() -> None:
    points = [array([float(one)]) for one in (0, 100, 1, *range(200, 100 * WIDE, 100))]
    found = union([(one, one) for one in points], np.array([False]))
    assert len(found.intervals) == WIDE
    assert all(found.holds(one).all() for one in points)
    assert found.holds(array([0.5])).all()
    assert not found.holds(array([50.0])).any()


def test_everything_holds_infinity_and_nan() -> None:
    found = ValueSet.everything((3,), F32)
    assert found.holds(array([np.inf, -np.inf, np.nan])).all()


def test_a_set_has_the_elements_of_another_where_a_mask_is_true() -> None:
    one, other = ValueSet.of(array([1.0, 2.0])), ValueSet.of(array([3.0, 4.0]))
    found = one.where(np.array([True, False]), other)
    assert found.holds(array([3.0, 2.0])).all()
    assert not found.holds(array([1.0, 4.0])).any()


def test_numbers_are_chosen_rather_than_nan() -> None:
    one, other = array([1.0, np.nan]), array([2.0, 3.0])
    assert lesser(one, other).tolist() == [1.0, 3.0]
    assert greater(one, other).tolist() == [2.0, 3.0]


@pytest.mark.parametrize("of", ["f32", "complex<f32>"])
def test_a_flushed_set_has_zero_beside_subnormal_numbers(of: str) -> None:
    low, high = array([1e-40, -2e-40, 1e-30, -5.0]), array([2e-40, -1e-40, 1.0, 1e-40])
    if of != "f32":
        low, high = low + 1j * low, high + 1j * high
    found = ValueSet(((low, high),), np.zeros(4, bool)).flushed()
    zero = np.zeros_like(low)
    assert found.holds(zero).tolist() == [True, True, False, True]
    assert found.holds(low).all()
    assert found.holds(high).all()
