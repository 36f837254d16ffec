"""Sorts, selections, solvers and factorisations by libraries."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.custom_calls.libraries import TARGETS, options_of
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    site_of,
    tuple_shape,
)
from suites.meta.support.small_programs import array

MATRIX = np.array([[4.0, 9.0], [2.0, 5.0]], np.float32)


def evaluate_call(target: str, result, *operands: np.ndarray, options: str = "", **given):
    call = custom_call(target, result, options, **given)
    return [one.tolist() for one in evaluate_instruction(TARGETS[target], call, *operands)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", "plain"),
        ("{lower = true, n = 3 : i64}", (("lower", True, "i1"), ("n", 3, "i64"))),
        ("{no attribute", "{no attribute"),
    ],
)
def test_options_of_the_typed_interface_are_a_dictionary(text: str, found) -> None:
    assert options_of(site_of(custom_call("foo", shape("f32"), text))) == found


@pytest.mark.parametrize(
    ("options", "order"), [("", [1, 2, 0]), ('{"descending": true}', [0, 2, 1])]
)
def test_keys_are_sorted_with_their_values(options: str, order: list[int]) -> None:
    keys = array([3.0, -1.0, 0.5])
    result = tuple_shape(shape("f32", 3), shape("si32", 3), shape("si8", 4))
    numbers = array([0, 1, 2], "si32")
    found = evaluate_call("__cub$DeviceRadixSort", result, keys, numbers, options=options)
    assert found == [keys[order].tolist(), order, [0, 0, 0, 0]]


def test_floats_are_sorted_in_total_order() -> None:
    keys = array([0.0, -0.0])
    (found,) = evaluate_instruction(
        TARGETS["__cub$DeviceRadixSort"],
        custom_call("__cub$DeviceRadixSort", tuple_shape(shape("f32", 2))),
        keys,
    )
    assert np.signbit(found).tolist() == [True, False]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ('{"largest": true}', [[3.0], [0]]),
        ('{"largest": false}', [[-1.0], [1]]),
        ("", [[3.0], [0]]),
    ],
)
def test_selected_elements_come_with_their_positions(options: str, found: list) -> None:
    result = tuple_shape(shape("f32", 1), shape("si32", 1))
    assert evaluate_call("__gpu$TopK", result, array([3.0, -1.0]), options=options) == found


def test_factor_leaves_the_other_triangle_as_it_was() -> None:
    result = tuple_shape(shape("f32", 2, 2), shape("si32"))
    found = evaluate_call("cusolver$cholesky", result, MATRIX, options='{"lower": true}')
    assert found == [[[2.0, 9.0], [1.0, 2.0]], 0]
    upper = evaluate_call("cusolver$cholesky", result, MATRIX.T.copy(), options='{"lower": false}')
    assert upper[0] == [[2.0, 1.0], [9.0, 2.0]]


def test_solver_has_the_options_of_the_opcode() -> None:
    lower = np.array([[2.0, 0.0], [1.0, 1.0]], np.float32)
    right = np.array([[1.0], [0.5]], np.float32)
    result = tuple_shape(shape("f32", 2, 1), shape("si8", 2))
    options = '{"left_side": true, "lower": true, "transpose_a": "TRANSPOSE"}'
    found = evaluate_call("__cublas$triangularSolve", result, lower, right, options=options)
    assert found == [[[0.25], [0.5]], [0, 0]]


def test_seed_is_zero() -> None:
    assert evaluate_call("GetRngSeed", shape("si32")) == [0]
