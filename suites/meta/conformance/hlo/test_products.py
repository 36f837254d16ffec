"""Products, convolutions that are products, factorisations and solvers."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.convolved_products import Part, part_of, product, product_parts
from conformance.hlo.folding import padding_of
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
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, TensorType, Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.conformance.hlo.instructions import (
    evaluate_instruction,
    instruction,
    shape,
    site_of,
)
from suites.meta.support.small_programs import array, tensor_of

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


# --- Convolutions that compute a product ----------------------------------------------------------

BATCHING = WindowDimension(size=3, stride=2, base_dilation=3)
CONTRACTING = WindowDimension(size=4)
OF_LHS = WindowDimension(size=1)
OF_RHS = WindowDimension(size=5, padding_low=4, padding_high=4, window_reversal=True)
WINDOW = (BATCHING, CONTRACTING, OF_LHS, OF_RHS)

LHS = tensor_of(2, 6, 3, 4, 7, 1)
"""Batch and feature, then a dimension of each role."""
RHS = tensor_of(6, 8, 3, 4, 1, 5)
RESULT = tensor_of(2, 8, 3, 1, 7, 5)
NUMBERS = ConvolutionDimensions(
    input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=[2, 3, 4, 5],
    kernel_input_feature_dimension=0, kernel_output_feature_dimension=1,
    kernel_spatial_dimensions=[2, 3, 4, 5],
    output_batch_dimension=0, output_feature_dimension=1, output_spatial_dimensions=[2, 3, 4, 5],
)  # fmt: skip


def _program(building: Building, result: Value) -> Program:
    values = (Value("lhs", LHS), Value("rhs", RHS))
    return Program((Function("main", building.region(values, (result,)), (RESULT,)),))


def _results(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return the results of the convolution and of the product."""
    values, found = (Value("lhs", LHS), Value("rhs", RHS)), list[np.ndarray]()
    parts = product_parts(LHS, RHS, RESULT, NUMBERS, WINDOW)
    assert parts is not None
    assert parts == [Part.BATCHING, Part.CONTRACTING, Part.OF_LHS, Part.OF_RHS]
    building = Building()
    read = product(building, values, RESULT, NUMBERS, parts)
    found += evaluate(_program(building, read), inputs)
    building = Building()
    written = building.one(
        "convolution", values, RESULT,
        window_strides=tuple(d.stride or 1 for d in WINDOW), padding=padding_of(list(WINDOW)),
        lhs_dilation=tuple(d.base_dilation or 1 for d in WINDOW), rhs_dilation=(1,) * 4,
        window_reversal=tuple(d.window_reversal for d in WINDOW),
        input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=(2, 3, 4, 5),
        kernel_input_feature_dimension=0, kernel_output_feature_dimension=1,
        kernel_spatial_dimensions=(2, 3, 4, 5),
        output_batch_dimension=0, output_feature_dimension=1,
        output_spatial_dimensions=(2, 3, 4, 5), feature_group_count=1, batch_group_count=1,
    )  # fmt: skip
    found += evaluate(_program(building, written), inputs)
    return found


def test_a_product_has_the_values_of_the_convolution() -> None:
    random = np.random.default_rng(0)
    inputs = [random.integers(-4, 5, of.static_shape).astype(np.float32) for of in (LHS, RHS)]
    product_, convolution = _results(inputs)
    assert np.array_equal(product_, convolution)


def test_a_product_multiplies_no_padding() -> None:
    inputs = [np.ones(of.static_shape, np.float32) for of in (LHS, RHS)]
    inputs[1][:, :, 0] = np.inf
    product_, convolution = _results(inputs)
    assert np.isinf(product_[:, :, 0]).all()
    assert (product_[:, :, 1:] == 24).all()
    assert np.isnan(convolution).any()


@pytest.mark.parametrize(
    ("sizes", "window"),
    [
        ((3, 3, 3), WindowDimension(size=3, stride=1, base_dilation=3)),
        ((3, 3, 3), WindowDimension(size=3, stride=2, base_dilation=2)),
        ((4, 3, 2), WindowDimension(size=3)),
        ((4, 4, 1), WindowDimension(size=4, window_reversal=True)),
        ((4, 1, 4), WindowDimension(size=1, window_dilation=2)),
        ((1, 5, 5), WindowDimension(size=5, padding_low=4, padding_high=4)),
        ((1, 5, 5), WindowDimension(size=5, padding_low=2, padding_high=2, window_reversal=True)),
    ],
)
def test_other_windows_are_of_no_product(
    sizes: tuple[int, int, int], window: WindowDimension
) -> None:
    assert part_of(*sizes, window) is None


def test_a_convolution_without_dilation_and_padding_stays_one() -> None:
    of = TensorType((2, 6, 4), ELEMENT_TYPES["f32"])
    kernel, result = tensor_of(6, 8, 4), tensor_of(2, 8, 1)
    numbers = ConvolutionDimensions(
        input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=[2],
        kernel_input_feature_dimension=0, kernel_output_feature_dimension=1,
        kernel_spatial_dimensions=[2], output_batch_dimension=0, output_feature_dimension=1,
        output_spatial_dimensions=[2],
    )  # fmt: skip
    assert product_parts(of, kernel, result, numbers, [CONTRACTING]) is None
