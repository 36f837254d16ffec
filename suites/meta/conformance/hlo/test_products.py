"""Products, transforms, solvers and random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.products import HANDLERS, batching_of, convolution_attributes
from conformance.hlo.protos import (
    CholeskyOptions,
    ConvolutionDimensions,
    DotDimensions,
    TriangularSolveOptions,
    Window,
    WindowDimension,
)
from conformance.hlo.unreadable import Unreadable
from suites.meta.conformance.hlo.instructions import (
    evaluate_instruction,
    instruction,
    shape,
    site_of,
)
from suites.meta.support.small_programs import array

MATRIX = np.array([[4.0, 2.0], [2.0, 3.0]], np.float32)


def evaluate_opcode(opcode: str, result, *operands, **given) -> np.ndarray:
    one = instruction(opcode, result, **given)
    return evaluate_instruction(HANDLERS[opcode], one, *operands)[0]


def test_dimension_numbers_of_a_product() -> None:
    assert batching_of(DotDimensions([1], [2], [0], [3])) == {
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (2,),
        "lhs_batching_dimensions": (0,), "rhs_batching_dimensions": (3,),
    }  # fmt: skip


def test_product_of_truth_values_counts() -> None:
    flags, numbers = np.array([True, True, False]), array([2.0, 3.0, 5.0])
    dot = DotDimensions([0], [0])
    assert evaluate_opcode("dot", shape("f32"), flags, numbers, dot_dimension_numbers=dot) == 5
    assert evaluate_opcode("dot", shape("si32"), flags, flags, dot_dimension_numbers=dot) == 2


def test_cholesky_takes_the_lower_triangle_if_asked() -> None:
    lower = evaluate_opcode(
        "cholesky", shape("f32", 2, 2), MATRIX, cholesky_options=CholeskyOptions(True)
    )
    assert lower[1, 0] == 1
    upper = evaluate_opcode("cholesky", shape("f32", 2, 2), MATRIX)
    assert upper[0, 1] == 1


@pytest.mark.parametrize(
    ("transpose", "found"), [(0, [0.5, 0.0]), (1, [0.5, 0.0]), (2, [0.25, 0.5])]
)
def test_solver_transposes_by_xlas_number(transpose: int, found: list[float]) -> None:
    """The lower triangle is [[2, 0], [1, 1]]; the right side is (1, 0.5)."""
    lower = np.array([[2.0, 0.0], [1.0, 1.0]], np.float32)
    right = np.array([[1.0], [0.5]], np.float32)
    options = TriangularSolveOptions(True, True, False, transpose)
    solved = evaluate_opcode(
        "triangular-solve", shape("f32", 2, 1), lower, right, triangular_solve_options=options
    )
    assert solved.ravel().tolist() == found


def test_convolution_has_ones_for_what_is_not_stated() -> None:
    window = Window([WindowDimension(3, 0, 1, 2, 0, 0, True)])
    numbers = ConvolutionDimensions(0, 1, [2], 0, 1, 0, 1, [2], [2])
    one = instruction(
        "convolution", shape("f32", 1, 1, 4), window=window, convolution_dimension_numbers=numbers
    )
    given = convolution_attributes(site_of(one))
    assert given["window_strides"] == given["lhs_dilation"] == given["rhs_dilation"] == (1,)
    assert given["window_reversal"] == (True,)
    assert given["padding"].array.tolist() == [[1, 2]]
    assert given["feature_group_count"] == given["batch_group_count"] == 1


@pytest.mark.parametrize("opcode", ["ragged-dot", "triangular-solve", "rng"])
def test_options_that_are_missing_are_an_error(opcode: str) -> None:
    with pytest.raises(Unreadable):
        evaluate_opcode(opcode, shape("f32", 2), array([1.0, 2.0]), array([1.0, 2.0]))


def test_state_of_the_devices_generator_is_zero() -> None:
    assert evaluate_opcode("rng-get-and-update-state", shape("ui64", 2)).tolist() == [0, 0]
