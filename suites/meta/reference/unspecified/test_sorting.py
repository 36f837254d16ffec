"""Slices without an order, because the comparator is no strict weak ordering of their elements."""

from __future__ import annotations

import numpy as np
import pytest

from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import Array
from reference.unspecified import sorting
from reference.unspecified.sorting import NO_ORDER, REASONS, unspecified_slices
from suites.meta.support.ops.sorting import F32, SI32, compare_first
from suites.meta.support.ops.unspecified import array, unspecified_by

NAN = np.nan


def slices(
    numbers: object, *, way: str, of: str = "f32", dimension: int = -1
) -> dict[str, list[bool]]:
    """Return the masks of slices of a sort by one comparison, by their reasons."""
    operand: Array = array(of, numbers)
    element = {"f32": F32, "si32": SI32}[of]
    kind = TensorType(operand.shape, element)
    given = {"dimension": dimension % operand.ndim, "is_stable": True}
    program = single_op(
        "sort", (Value("v", kind),), (kind,), given, (compare_first(element, way=way),)
    )
    found = unspecified_slices(program.subject, [operand])
    return {label: mask.tolist() for label, mask in found if mask.any()}


def test_numbers_and_nan_have_no_order_by_less_than() -> None:
    assert slices([[1, NAN, 0], [1, 2, 0], [NAN, NAN, NAN]], way="LT") == {
        NO_ORDER: [True, False, False]
    }


def test_less_or_equal_is_no_strict_order() -> None:
    """An element would precede itself."""
    assert slices([[1, 2, 3], [1, 1, 1]], way="LE", of="si32") == {NO_ORDER: [True, True]}


def test_a_slice_of_one_element_is_sorted() -> None:
    assert slices([[1], [1]], way="LE", of="si32") == {}
    assert slices(np.zeros((0, 3)), way="LE", of="si32") == {}


def test_the_slices_are_those_along_the_dimension() -> None:
    """Of two elements, NaN and a number are equal: neither precedes the other."""
    rows = [[1, 2], [NAN, 3], [0, 4]]
    assert slices(rows, way="LT", dimension=0) == {NO_ORDER: [True, False]}
    assert slices(rows, way="LT", dimension=1) == {}


def test_all_elements_of_such_a_slice_are_unspecified() -> None:
    found = unspecified_by(
        REASONS, "sort", array("f32", [[1, 2], [NAN, 3], [0, 4]]), dimension=0, is_stable=True,
        regions=(compare_first(F32, way="LT"),), to=TensorType((3, 2), F32),
    )  # fmt: skip
    assert found == {NO_ORDER: [True, False] * 3}


def test_in_long_slices_neighbours_of_equal_elements_are_still_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sorting, "_MAX_PAIRS", 0)
    assert slices([[1, 2, 3, 4, 4]], way="LE", of="si32") == {NO_ORDER: [True]}
    assert slices([[5, 2, 3, 4, 1]], way="LE", of="si32") == {NO_ORDER: [True]}  # x <= x
    assert slices([[5, 2, 3, 4, 4]], way="LT", of="si32") == {}
