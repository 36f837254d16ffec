"""Extrema of many elements: what a NaN takes with it, in the order of YNNPACK's kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla.extrema import WRONG_REDUCTIONS
from conformance.known.xla.many_elements import KERNELS, LEAST, fold_extremum
from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import evaluate
from reference.ir.monoid import ADD, MAXIMUM, MINIMUM, Monoid
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import Array, element_type_of
from reference.unspecified.reduction import decompose_reduction

NAN = math.nan
LEFT_OUT = WRONG_REDUCTIONS[0].label
MANY = 4096


def kind(x: Array, init: float, got: float, *, op: str = "maximum", **given: Any) -> str:
    """Return the class of a result that is `got` at the first position, right at the others."""
    of = element_type_of(x)
    name = "reduce" if "dimensions" in given else "reduce_window"
    start = np.array(init, x.dtype)
    values = (Value("x", TensorType(x.shape, of)), Value("init", TensorType((), of)))
    if name == "reduce":
        shape = tuple(n for d, n in enumerate(x.shape) if d not in given["dimensions"])
    else:
        shape = tuple(
            n // taken for n, taken in zip(x.shape, given["window_dimensions"], strict=True)
        )
    body = fold_of(op, of).region
    program = single_op(name, values, (TensorType(shape, of),), given, (body,))
    expected = evaluate(program, (x, start))
    actual = expected[0].copy()
    actual.reshape(-1)[0] = got
    rule = CATALOG[name].tolerance
    return judge(program, (x, start), expected, [actual], rule).kind


def along_the_last(size: int, places: dict[int, float], dtype: type = np.float32) -> Array:
    """Return rows of zeros, 4096 elements or more, with these elements in the first."""
    x = np.zeros((-(-MANY // size), size), dtype)
    for place, value in places.items():
        x[0, place] = value
    return x


@pytest.mark.parametrize(
    ("size", "place", "nan", "is_lost"),
    [
        (4096, 0, 16, True),  # the same lane, before
        (4096, 1, 16, False),  # another lane
        (4096, 32, 16, False),  # the same lane, behind
        (4096, 0, 4095, True),  # the last lane takes all others with it
        (32, 0, 24, True),  # the second half of the lanes takes the first
        (32, 16, 24, True),
        (32, 1, 24, False),
        (17, 0, 16, True),
        (17, 1, 16, False),
        (15, 0, 13, False),
    ],
)
def test_a_nan_takes_what_is_before_it_in_its_lane(
    size: int, place: int, nan: int, is_lost: bool
) -> None:
    x = along_the_last(size, {place: 9, nan: NAN})
    number = -1.0 if nan == size - 1 and size % 16 == 0 else 0.0
    assert kind(x, -1, 9, dimensions=(1,)) == LEFT_OUT  # of all numbers, as of short vectors
    assert (kind(x, -1, number, dimensions=(1,)) == LEFT_OUT) == is_lost
    assert kind(x, -1, 8, dimensions=(1,)) == "NaN"


def test_lanes_of_wide_numbers_are_half_as_many() -> None:
    x = along_the_last(9, {0: 9, 8: NAN}, np.float64)
    assert kind(x, -1, 0, dimensions=(1,)) == LEFT_OUT
    single = along_the_last(9, {1: 9, 8: NAN}, np.float64)
    assert kind(single, -1, 0, dimensions=(1,)) != LEFT_OUT


@pytest.mark.parametrize(
    ("column", "got", "is_explained"),
    [
        ([7, 5, NAN], 7, True),
        ([5, 7, NAN], 5, True),  # of the last three, what is behind a NaN or before it
        ([NAN, 5, 7], -1, True),
        ([5, NAN, 7], 5, False),
        ([5, 7, 6, NAN], -1, True),  # of four, what is before
        ([NAN, 7, 5, 6], 6, False),
        ([7, NAN, 5, 6], 6, True),
        ([NAN, 5, 6, 8, 7], 8, True),
        ([9, 5, 6, NAN, 7], 7, True),
        ([9, 5, 6, NAN, 7], 6, False),
        ([1, 2, 3, 4, 9, NAN], 9, True),
        ([1, 2, 3, 4, NAN, 9], 4, True),
    ],
)
def test_a_nan_takes_rows_before_it_in_blocks_of_four(
    column: list[float], got: float, is_explained: bool
) -> None:
    x = np.zeros((len(column), MANY), np.float32)
    x[:, 0] = column
    assert (kind(x, -1, got, dimensions=(0,)) == LEFT_OUT) == is_explained


@pytest.mark.parametrize(
    ("window", "got", "is_explained"),
    [
        ([[0, 0], [NAN, 9]], 0, True),
        ([[0, 0], [9, NAN]], 9, True),
        ([[NAN, 9], [3, 4]], 4, True),
        ([[NAN, 9], [3, NAN]], 3, True),
        ([[0, 0], [9, NAN]], 0, False),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_windows_are_reduced_row_by_row(
    window: list[list[float]], got: float, is_explained: bool, sign: int
) -> None:
    x = np.zeros((1, 32, 32, 4), np.float32)
    x[0, :2, :2, 0] = np.array(window) * sign
    given = {"window_dimensions": (1, 2, 2, 1), "window_strides": (1, 2, 2, 1)}
    op = "maximum" if sign > 0 else "minimum"
    assert (kind(x, 0, got * sign, op=op, **given) == LEFT_OUT) == is_explained


def test_few_elements_and_narrow_types_lose_nothing_but_nan() -> None:
    few = np.zeros((4, 1023), np.float32)
    many = np.zeros((4, 1024), np.float32)
    for x in (few, many):
        x[:, 0] = [5, 7, 6, NAN]
    assert kind(few, -1, -1, dimensions=(0,)) == "NaN"
    assert kind(many, -1, -1, dimensions=(0,)) == LEFT_OUT
    assert kind(many.astype(np.float16), -1, -1, dimensions=(0,)) == "NaN"


def test_adjacent_dimensions_are_reduced_as_one() -> None:
    x = np.zeros((2, 3, 1024), np.float32)
    x[..., 0] = [[1, 2, 9], [NAN, 3, 4]]
    assert kind(x, -1, 4, dimensions=(0, 1)) == LEFT_OUT
    apart = np.zeros((2, 2, 3, 1024), np.float32)
    apart[:, 0, :, 0] = x[..., 0]
    assert kind(apart, -1, 9, dimensions=(0, 2)) == LEFT_OUT
    assert kind(apart, -1, 4, dimensions=(0, 2)) == "NaN"


def folds(x: Array, init: float = -1, monoid: Monoid = MAXIMUM, **given: Any) -> list[float | None]:
    """Return the first result of each kernel, None where a kernel does not compute it."""
    of, name = element_type_of(x), "reduce" if "dimensions" in given else "reduce_window"
    values = (Value("x", TensorType(x.shape, of)), Value("init", TensorType((), of)))
    body = fold_of(monoid.name, of).region
    operation = single_op(name, values, (values[1].type,), given, (body,)).subject
    parts = decompose_reduction(operation, (x, np.array(init, x.dtype)))
    found = [fold_extremum(parts, monoid, kernel) for kernel in KERNELS]
    return [None if one is None else one.reshape(-1)[0].item() for one in found]


def test_a_nan_takes_elements_of_its_lane_in_vectors_of_each_size() -> None:
    """Vectors of 64, 32 and 16 bytes have 16, 8 and 4 lanes of f32."""
    assert [(kernel.vector, kernel.block) for kernel in KERNELS] == [
        (64, 0), (32, 0), (16, 0), (64, 2**17),
    ]  # fmt: skip
    for nan, found in ((16, [0, 0, 0, 0]), (8, [9, 0, 0, 9]), (4, [9, 9, 0, 9]), (5, [9] * 4)):
        assert folds(along_the_last(LEAST, {0: 9, nan: NAN}), dimensions=(1,)) == found


def test_rows_are_taken_in_blocks_of_bytes() -> None:
    """Five rows of 6553 numbers are a block: the fifth does not precede a NaN in the sixth."""
    x = np.zeros((8, 6553), np.float32)
    x[4:6, 0] = [9, NAN]
    assert folds(x, dimensions=(0,)) == [0, 0, 0, 9]


def test_first_init_value_stays_if_it_is_nan_or_better() -> None:
    x = along_the_last(LEAST, {0: 9})
    assert folds(x, 10, dimensions=(1,)) == [10] * 4
    assert np.isnan(np.array(folds(x, NAN, dimensions=(1,)), np.float64)).all()
    assert folds(-x, 1, MINIMUM, dimensions=(1,)) == [-9] * 4


@pytest.mark.parametrize(
    ("size", "monoid", "given"),
    [
        (LEAST - 1, MAXIMUM, {"dimensions": (0,)}),
        (LEAST, ADD, {"dimensions": (0,)}),
        (LEAST, MAXIMUM, {"window_dimensions": (2,), "window_strides": (1,)}),  # they overlap
        (LEAST, MAXIMUM, {"window_dimensions": (2,), "window_strides": (3,)}),  # gaps
    ],
)
def test_kernels_compute_extrema_of_many_elements_side_by_side(
    size: int, monoid: Monoid, given: dict[str, Any]
) -> None:
    assert folds(np.zeros(size, np.float32), monoid=monoid, **given) == [None] * 4
