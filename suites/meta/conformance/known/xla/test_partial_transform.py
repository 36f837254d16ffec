"""Fourier transforms of other lengths than the dimensions have."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.partial_transform import (
    BEYOND,
    BEYOND_THE_OPERAND,
    FLUSHED,
    LABEL,
    LEADING_PART,
    SUBARRAY_PART,
)
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation
from reference.ir.types import Array
from suites.meta.support.small_programs import op_program, tensor_of

X = np.array([[1, 2, 4], [3, 5, 7]], np.complex64)
BEHIND = 99 + 9j
"""An element of other memory."""


def fft(kind: str, length: int) -> Operation:
    of = tensor_of(2, 3, of="complex<f32>")
    return op_program("fft", [of], of, fft_type=kind, fft_length=(length,)).subject


def explained(
    kind: str, length: int, got: list[complex], by: Hypothesis = LEADING_PART
) -> list[bool]:
    actual = np.array(got, np.complex64).reshape(2, 3)
    assert by.errors is not None
    with np.errstate(invalid="ignore"):  # a transform of a single element has the bound 0
        (errors,) = by.errors(fft(kind, length), (X,), (np.zeros_like(X),), (actual,))
    return (errors == 0).reshape(-1).tolist()


SUMS = [3, -1, 8, -2]
"""The transforms of 1, 2 and of 3, 5: sums and differences, written one behind the other."""


@pytest.mark.parametrize(
    ("kind", "length", "got", "is_explained"),
    [
        ("FFT", 2, [*SUMS, BEHIND, BEHIND], True),
        ("IFFT", 2, [*(number / 2 for number in SUMS), BEHIND, 0], True),
        ("FFT", 1, [1, 3, BEHIND, BEHIND, BEHIND, BEHIND], True),
        ("FFT", 2, [3, -1, BEHIND, 8, -2, BEHIND], False),  # each in its own row
        ("FFT", 2, [3, -1, 8, -2.001, BEHIND, BEHIND], False),
        ("IFFT", 2, [*SUMS, BEHIND, BEHIND], False),
        ("FFT", 3, [*SUMS, BEHIND, BEHIND], False),  # all elements are transformed
        ("FFT", 4, [*SUMS, BEHIND, BEHIND], False),  # there are fewer
        ("RFFT", 2, [*SUMS, BEHIND, BEHIND], False),
    ],
)
def test_all_elements_are_explained_if_the_first_are_transforms(
    kind: str, length: int, got: list[complex], is_explained: bool
) -> None:
    assert explained(kind, length, got) == [is_explained] * 6


@pytest.mark.parametrize(
    ("kind", "length", "got", "is_explained"),
    [
        ("FFT", 2, [3, -1, BEHIND, 8, -2, BEHIND], True),
        ("IFFT", 2, [1.5, -0.5, BEHIND, 4, -1, 0], True),
        ("FFT", 1, [1, BEHIND, BEHIND, 3, BEHIND, BEHIND], True),
        ("FFT", 2, [*SUMS, BEHIND, BEHIND], False),
        ("FFT", 2, [3, -1, BEHIND, 8, -2.001, BEHIND], False),
        ("FFT", 3, [3, -1, BEHIND, 8, -2, BEHIND], False),  # all elements are transformed
        ("FFT", 4, [3, -1, BEHIND, 8, -2, BEHIND], False),  # there are fewer
    ],
)
def test_on_gpus_transforms_are_in_place_of_their_elements(
    kind: str, length: int, got: list[complex], is_explained: bool
) -> None:
    assert explained(kind, length, got, SUBARRAY_PART) == [is_explained] * 6


@pytest.mark.parametrize(
    ("kind", "length", "got", "is_explained"),
    [
        # the first row and the number behind it: 1, 2, 4, 3
        ("FFT", 4, [10, -3 + 1j, 0, BEHIND, BEHIND, BEHIND], True),
        ("IFFT", 4, [2.5, -0.75 - 0.25j, 0, BEHIND, BEHIND, BEHIND], True),
        ("FFT", 4, [10, -3 + 1j, 0, -3 - 1j, BEHIND, 0], True),
        ("FFT", 4, [10, -3 + 1j, 1, BEHIND, BEHIND, BEHIND], False),
        ("FFT", 4, [7, -2.5 + 1.75j, -2.5 - 1.75j, BEHIND, BEHIND, BEHIND], False),  # of 3
        ("FFT", 7, [BEHIND] * 6, True),
        ("FFT", 3, [BEHIND] * 6, False),  # the size
        ("FFT", 2, [BEHIND] * 6, False),
        ("RFFT", 4, [BEHIND] * 6, False),
    ],
)
def test_longer_transforms_read_behind_the_row(
    kind: str, length: int, got: list[complex], is_explained: bool
) -> None:
    assert explained(kind, length, got, BEYOND_THE_OPERAND) == [is_explained] * 6


@pytest.mark.parametrize("got", [6.828427 - 2.8284273j, 4])
def test_longer_transform_of_one_element_depends_on_memory(got: complex) -> None:
    """Both were measured, of the same program."""
    of = tensor_of(1, 1, of="complex<f32>")
    program = op_program("fft", [of], of, fft_type="FFT", fft_length=(4, 8))
    x, actual = np.ones((1, 1), np.complex64), np.full((1, 1), got, np.complex64)
    kinds = [
        judge_operation(program, (x,), evaluate(program, (x,)), (actual,), platform=on).kind
        for on in (Hardware.GPU, Hardware.CPU)
    ]
    assert [kind == BEYOND for kind in kinds] == [True, False]


def test_class_depends_on_hardware() -> None:
    of = tensor_of(2, 3, of="complex<f32>")
    program = op_program("fft", [of], of, fft_type="FFT", fft_length=(2,))
    got = np.array([3, -1, BEHIND, 8, -2, BEHIND], np.complex64).reshape(2, 3)
    kinds = [
        judge_operation(program, (X,), evaluate(program, (X,)), (got,), platform=on).kind
        for on in (Hardware.GPU, Hardware.CPU)
    ]
    assert [kind == LABEL for kind in kinds] == [True, False]


@pytest.mark.parametrize(("by", "last"), [(LEADING_PART, 3), (SUBARRAY_PART, 4)])
def test_distances_by_place(by: Hypothesis, last: int) -> None:
    assert by.ulps is not None
    (ulps,) = by.ulps(fft("FFT", 2), (X,), (np.zeros_like(X),), (np.full_like(X, -2),))
    assert np.flatnonzero(ulps == 0).tolist() == [last]


def test_distances_are_those_of_the_first_elements() -> None:
    assert LEADING_PART.ulps is not None
    actual = np.array([3, -1, 8, -2, BEHIND, BEHIND], np.complex64).reshape(2, 3)
    actual[0, 2] = 8 * (1 + 2.0**-23)
    (ulps,) = LEADING_PART.ulps(fft("FFT", 2), (X,), (np.zeros_like(X),), (actual,))
    assert ulps.reshape(-1).tolist() == [0, 0, 1, 0, np.inf, np.inf]
    (ulps,) = LEADING_PART.ulps(fft("FFT", 3), (X,), (np.zeros_like(X),), (actual,))
    assert np.isinf(ulps).all()
    assert (LEADING_PART.label, LEADING_PART.unsteady, LEADING_PART.signs) == (LABEL, True, True)


def flushed_errors(x: Array, got: Array) -> list[bool]:
    of = tensor_of(2, of="complex<f32>")
    operation = op_program("fft", [of], of, fft_type="FFT", fft_length=(2,)).subject
    expected = np.array([x[0] + x[1], x[0] - x[1]], np.complex64)
    assert FLUSHED.errors is not None
    (errors,) = FLUSHED.errors(operation, (x,), (expected,), (got,))
    return (errors <= 1).tolist()


def test_subnormal_operands_may_be_flushed() -> None:
    tiny, normal = np.full(2, 2.0**-130, np.complex64), np.full(2, 2.0**-100, np.complex64)
    assert FLUSHED.flushes
    assert flushed_errors(tiny, np.zeros(2, np.complex64)) == [True, True]
    assert flushed_errors(normal, np.zeros(2, np.complex64)) == [False, True]
