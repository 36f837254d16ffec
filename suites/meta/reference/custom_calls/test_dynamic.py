"""Ops whose attributes are operands of a custom call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.custom_calls.dynamic import (
    dynamic_reduce_window,
    dynamic_rng_bit_generator,
    dynamic_top_k,
)
from reference.interpreter.evaluate import body_of
from reference.ir.errors import EvaluationError
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.counter_based import threefry_bits

NAN, INF = np.nan, np.inf
SI32, UI64 = ELEMENT_TYPES["si32"], ELEMENT_TYPES["ui64"]


def top(numbers: list[float], dtype: Any, k: int) -> tuple[list[float], list[int]]:
    values, indices = dynamic_top_k((np.array(numbers, dtype), np.int32(k)), {})
    return values.tolist(), indices.tolist()


def test_largest_elements_in_descending_order() -> None:
    assert top([3, -1, 7, 5], np.int32, 2) == ([7, 5], [2, 3])
    assert top([3, -1], np.int32, 0) == ([], [])


def test_equal_elements_keep_their_order() -> None:
    assert top([5, 7, 5, 7], np.int32, 3) == ([7, 7, 5], [1, 3, 0])


def test_the_ends_of_64_bit_integers() -> None:
    low, high = -(2**63), 2**63 - 1
    assert top([low, 0, high], np.int64, 3) == ([high, 0, low], [2, 1, 0])
    assert top([0, 2**64 - 1, 2**63], np.uint64, 3) == ([2**64 - 1, 2**63, 0], [1, 2, 0])


def test_floats_are_in_total_order() -> None:
    assert top([-0.0, INF, 0.0, NAN, -INF, -NAN], np.float32, 6)[1] == [3, 1, 2, 0, 4, 5]


def test_types_without_a_sign() -> None:
    assert top([1, 4, 2], ELEMENT_TYPES["f8E8M0FNU"].storage, 2) == ([4, 2], [1, 2])


def window_sums(*settings: Any) -> list[int]:
    """Return sums of windows of 1, 2, 4, 8 and 16; one padding of 0 on the left."""
    scalar = TensorType((), SI32)
    a, b, r = (Value(name, scalar) for name in "abr")
    region = Region((a, b), (Operation("add", (a, b), (r,)), Operation("return", (r,))))
    operand: Array = np.array([1, 2, 4, 8, 16], np.int32)
    inputs = (operand, np.int32(0), *map(np.array, settings))
    (result,) = dynamic_reduce_window(inputs, {"computations": [body_of(region)]})
    return result.tolist()


def test_windows_are_operands_in_the_order_of_the_attributes() -> None:
    assert window_sums([2], [1], [1], [1], [[0, 0]]) == [3, 6, 12, 24]
    assert window_sums([2], [3], [1], [1], [[0, 0]]) == [3, 24]  # strides
    assert window_sums([2], [1], [2], [1], [[0, 0]]) == [1, 2, 2, 4, 4, 8, 8, 16]  # base dilations
    assert window_sums([2], [1], [1], [3], [[0, 0]]) == [9, 18]  # window dilations
    assert window_sums([2], [1], [1], [1], [[1, 0]]) == [1, 3, 6, 12, 24]


@pytest.mark.parametrize("count", [0, 2])
def test_a_window_has_one_body(count: int) -> None:
    with pytest.raises(EvaluationError, match="must name one function"):
        dynamic_reduce_window((), {"computations": [None] * count})


def test_random_bits_of_a_shape_that_is_an_operand() -> None:
    state = np.array([3, 4], np.uint64)
    given = {
        "rng_algorithm": "#stablehlo<rng_algorithm THREE_FRY>",
        "results": (TensorType((2,), UI64), TensorType((None,), UI64)),
    }
    after, bits = dynamic_rng_bit_generator((state, np.array([5])), given)
    wanted = threefry_bits(state, (5,), 64)
    assert after.tolist() == wanted[0].tolist()
    assert bits.tolist() == wanted[1].tolist()
