"""Custom calls of HLO: options, activations, libraries for GPUs and TPUs, and dynamic sizes."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.custom_calls import (
    activations,
    partitioning,
    table,
)
from conformance.hlo.custom_calls.activations import Activation
from conformance.hlo.custom_calls.configuration import configuration
from conformance.hlo.custom_calls.table import TARGETS
from conformance.hlo.protos import ConvolutionDimensions, Layout, Tile, Window, WindowDimension
from conformance.hlo.unreadable import Unreadable
from reference.custom_calls.targets import BUILT_IN
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, Value
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    site_of,
    tuple_shape,
)
from suites.meta.support.small_programs import array, tensor_of

MATRIX_VALUE = Value("x", tensor_of(2, 2))


@pytest.mark.parametrize("target", partitioning.TARGETS)
def test_calls_of_partitioners_change_no_value(target: str) -> None:
    site = site_of(custom_call(target, shape("f32", 2, 2)), [MATRIX_VALUE])
    assert table.read_custom_call(site) is MATRIX_VALUE


def test_calls_that_the_reference_evaluates_stay_calls() -> None:
    target = "lapack_spotrf_ffi"
    assert target in BUILT_IN
    site = site_of(custom_call(target, shape("f32", 2, 2), "{uplo = 76 : ui8}"), [MATRIX_VALUE])
    table.read_custom_call(site)
    (operation,) = site.building.operations
    assert operation.attribute("call_target_name") == target
    assert operation.attribute("backend_config") == (("uplo", 76, "ui8"),)
    assert operation.attribute("api_version") == 4


def test_unknown_call_is_not_read() -> None:
    with pytest.raises(Unreadable, match="custom call foo: its meaning is unknown"):
        table.read_custom_call(site_of(custom_call("foo", shape("f32")), [MATRIX_VALUE]))


def options(text: str, key: str = "") -> dict[str, Any]:
    return configuration(site_of(custom_call("foo", shape("f32"), text)), key)


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [("{", "", "not JSON"), ("[1]", "", "no JSON object"), ('{"a": 1}', "a", "no JSON object")],
)
def test_other_options_are_not_read(text: str, key: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"custom call foo: its options are {reason}"):
        options(text, key)


SIGNS = [-2.0, -0.0, 0.5, 7.0]


def apply_activation(activation: Activation, alpha: float = 0.25) -> np.ndarray:
    building, value = Building(), Value("x", tensor_of(4))
    result = activation(building, value, alpha)
    body = building.region([value], [result])
    (found,) = evaluate(Program((Function("main", body, (result.type,)),)), [array(SIGNS)])
    return found


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        (activations.identity, lambda x: x),
        (activations.relu, lambda x: max(x, 0.0)),
        (activations.relu6, lambda x: min(max(x, 0.0), 6.0)),
        (activations.leaky_relu, lambda x: x if x > 0 else x / 4),
        (activations.elu, lambda x: x if x > 0 else math.expm1(x)),
        (activations.tanh, math.tanh),
        (activations.sigmoid, sigmoid),
        (activations.silu, lambda x: x * sigmoid(x)),
        (activations.gelu, gelu),
    ],
)
def test_activation_is_its_formula(activation: Activation, formula) -> None:
    np.testing.assert_allclose(
        apply_activation(activation),
        [formula(x) for x in SIGNS],
        rtol=1e-5,
        atol=1e-7,
    )


LHS, RHS = array([[1.0, 2.0]]), array([[3.0, 0.0], [-5.0, 1.0]])
"""Their product is (-7, 2)."""

DOT_NUMBERS = {"lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["0"]}


def multiply(*operands: np.ndarray, result=None, **config: Any) -> list[Any]:
    given = {"gemm_backend_config": {"dot_dimension_numbers": DOT_NUMBERS, "beta": 0, **config}}
    call = custom_call("__cublas$lt$matmul", result or shape("f32", 1, 2), json.dumps(given))
    found = evaluate_instruction(TARGETS["__cublas$lt$matmul"], call, LHS, RHS, *operands)
    return [one.tolist() for one in found]


def test_product_is_scaled_and_a_scaled_matrix_added() -> None:
    assert multiply() == [[[-7.0, 2.0]]]
    assert multiply(alpha_real=2) == [[[-14.0, 4.0]]]
    assert multiply(array([[1.0, 10.0]]), beta=3) == [[[-4.0, 32.0]]]


def test_epilogue_adds_a_vector_and_applies_a_function() -> None:
    assert multiply(epilogue="RELU") == [[[0.0, 2.0]]]
    assert multiply(array([8.0, 1.0]), epilogue="BIAS") == [[[1.0, 3.0]]]
    assert multiply(array([5.0, -9.0]), epilogue="BIAS_RELU") == [[[0.0, 0.0]]]


def test_unknown_epilogues_and_operands_are_not_read() -> None:
    with pytest.raises(Unreadable, match="epilogue CUBE"):
        multiply(epilogue="CUBE")
    with pytest.raises(Unreadable, match="1 operands of unknown meaning"):
        multiply(array([1.0, 2.0]))


DIMENSIONS = ConvolutionDimensions(1, 0, [2], 0, 1, 0, 1, [2], [2])
"""Batch, features, space; the kernel has output features first."""

IMAGE = np.array([[[1.0, 2.0, 3.0]]], np.float32)
KERNEL = np.array([[[10.0, 1.0]]], np.float32)
CONVOLVED = np.array([[[12.0, 23.0]]], np.float32)


def evaluate_convolution(
    target: str, sizes: tuple[int, ...], *operands: np.ndarray, **config: Any
) -> np.ndarray:
    one = custom_call(
        target, tuple_shape(shape("f32", *sizes), shape("si8", 2)),
        json.dumps({"cudnn_conv_backend_config": config}),
        window=Window([WindowDimension(2)]), convolution_dimension_numbers=DIMENSIONS,
    )  # fmt: skip
    found, scratch = evaluate_instruction(TARGETS[target], one, *operands)
    assert scratch.tolist() == [0, 0]
    return found


FORWARD = "__cudnn$convBiasActivationForward"


def test_forward_scales_and_adds_side_input_and_bias_before_the_activation() -> None:
    sizes, bias = (1, 1, 2), np.array([-30.0], np.float32)
    assert (
        evaluate_convolution("__cudnn$convForward", sizes, IMAGE, KERNEL).tolist()
        == CONVOLVED.tolist()
    )
    assert (
        evaluate_convolution(FORWARD, sizes, IMAGE, KERNEL, bias).tolist()
        == (CONVOLVED - 30).tolist()
    )
    found = evaluate_convolution(
        FORWARD, sizes, IMAGE, KERNEL, bias, activation_mode="kRelu", conv_result_scale=2
    )
    assert found.tolist() == [[[0.0, 16.0]]]
    found = evaluate_convolution(FORWARD, sizes, IMAGE, KERNEL, bias, CONVOLVED, side_input_scale=1)
    assert found.tolist() == (2 * CONVOLVED - 30).tolist()


@pytest.mark.parametrize(
    ("target", "config"),
    [
        (FORWARD, {"activation_mode": "kCube"}),
        (FORWARD, {"reordered_int8_nchw_vect": True}),
        ("__cudnn$convBackwardInput", {"conv_result_scale": 2}),
    ],
)
def test_options_without_a_meaning_here_are_not_read(target: str, config: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        evaluate_convolution(target, (1, 1, 2), IMAGE, KERNEL, **config)


ROWS = np.array([[1.0, 3.0], [10.0, 14.0]], np.float32)
SCALE = np.array([[1.0, 10.0]], np.float32)
BIAS = np.array([[0.5, 0.0]], np.float32)


def normalise(kind: str, epsilon: float, *results) -> list[np.ndarray]:
    config = json.dumps({"cudnn_norm_backend_config": {"kind": kind, "epsilon": epsilon}})
    call = custom_call("__cudnn$norm", tuple_shape(*results), config)
    return evaluate_instruction(TARGETS["__cudnn$norm"], call, ROWS, SCALE, BIAS)


def test_training_returns_means_and_inverse_deviations() -> None:
    row = shape("f32", 2, 1)
    _, mean, factor = normalise("LAYER_FWD_TRAIN", 3.0, shape("f32", 2, 2), row, row)
    assert mean.tolist() == [[2.0], [12.0]]
    np.testing.assert_allclose(factor, [[1 / 2], [1 / 7**0.5]], rtol=1e-6)


MATRIX = np.array([[4.0, 9.0], [2.0, 5.0]], np.float32)


def evaluate_call(target: str, result, *operands: np.ndarray, options: str = "", **given):
    call = custom_call(target, result, options, **given)
    return [one.tolist() for one in evaluate_instruction(TARGETS[target], call, *operands)]


@pytest.mark.parametrize(
    ("options", "order"), [("", [1, 2, 0]), ('{"descending": true}', [0, 2, 1])]
)
def test_keys_are_sorted_with_their_values(options: str, order: list[int]) -> None:
    keys = array([3.0, -1.0, 0.5])
    result = tuple_shape(shape("f32", 3), shape("si32", 3), shape("si8", 4))
    numbers = array([0, 1, 2], "si32")
    found = evaluate_call("__cub$DeviceRadixSort", result, keys, numbers, options=options)
    assert found == [keys[order].tolist(), order, [0, 0, 0, 0]]


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


BOUNDED = shape("si32", 4, is_dynamic_dimension=[1])


def evaluate_both(size: int) -> list[np.ndarray]:
    """Return the array of the bounds after slicing to a size, and the size."""
    x, count = Value("x", tensor_of(4, of="si32")), Value("n", tensor_of(of="si32"))
    slicing = site_of(custom_call("SliceToDynamic", BOUNDED), [x, count])
    part = TARGETS["SliceToDynamic"](slicing)
    result = tuple_shape(shape("si32", 4), shape("si32"))
    padding = site_of(custom_call("PadToStatic", result), [part])
    padding.building.operations[:] = slicing.building.operations
    padding.building.numbers = slicing.building.numbers
    results = TARGETS["PadToStatic"](padding)
    assert isinstance(results, tuple)
    body = padding.building.region([x, count], results)
    program = Program((Function("main", body, tuple(one.type for one in results)),))
    return list(evaluate(program, [array([1, 2, 3, 4], "si32"), array(size, "si32")]))


def test_elements_beyond_the_size_are_zeros() -> None:
    for size, found in ((2, [1, 2, 0, 0]), (4, [1, 2, 3, 4]), (0, [0, 0, 0, 0])):
        padded, count = evaluate_both(size)
        assert padded.tolist() == found
        assert count == size


def evaluate_tpu_call(target: str, result, *operands: np.ndarray) -> np.ndarray:
    (found,) = evaluate_instruction(TARGETS[target], custom_call(target, result), *operands)
    return found


WORDS = [0, 1, -1, 2**40 + 7, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("half", ["si32", "ui32"])
def test_integer_is_its_low_and_its_high_word(half: str) -> None:
    x = array(WORDS, "si64")
    low, high = (
        evaluate_tpu_call(target, shape(half, 6), x) for target in ("X64SplitLow", "X64SplitHigh")
    )
    assert low.view(np.uint32).tolist() == [n % 2**32 for n in WORDS]
    assert high.view(np.int32).tolist() == [n >> 32 for n in WORDS]
    assert evaluate_tpu_call("X64Combine", shape("si64", 6), low, high).tolist() == WORDS


def test_float_is_its_rounded_half_and_the_remainder() -> None:
    x = array([1 + 2.0**-30, np.inf, -0.0], "f64")
    low, high = (
        evaluate_tpu_call(target, shape("f32", 3), x) for target in ("X64SplitLow", "X64SplitHigh")
    )
    assert low.tolist() == [1.0, np.inf, 0.0]
    assert high.tolist() == [2.0**-30, 0.0, 0.0]
    back = evaluate_tpu_call("X64Combine", shape("f64", 3), low, high)
    assert back.tobytes() == x.tobytes()


def test_complex_number_is_its_parts() -> None:
    x = array([1 - 2j], "complex<f32>")
    assert evaluate_tpu_call("X128SplitLow", shape("f32", 1), x).tolist() == [1.0]
    assert evaluate_tpu_call("X128SplitHigh", shape("f32", 1), x).tolist() == [-2.0]
    parts = array([1.0]), array([-2.0])
    assert evaluate_tpu_call("X128Combine", shape("complex<f32>", 1), *parts).tolist() == [1 - 2j]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("InvertDiagBlocksLowerTriangular", [[0.5, 0.0], [-0.5, 1.0]]),
        ("InvertDiagBlocksUpperTriangular", [[0.5, -4.0], [0.0, 1.0]]),
    ],
)
def test_triangle_is_inverted(target: str, found: list[list[float]]) -> None:
    matrix = np.array([[2.0, 8.0], [1.0, 1.0]], np.float32)
    assert evaluate_tpu_call(target, shape("f32", 2, 2), matrix).tolist() == found


def test_memory_ends_with_the_last_tile() -> None:
    """An array of 3 in tiles of 2 has a fourth place."""
    tiled = shape("si32", 3, layout=Layout([0], [Tile([2])]))
    call = custom_call("ZeroCrop", shape("si32", 4, layout=Layout([0], [Tile([2])])))
    x = Value("x", tensor_of(3, of="si32"))
    site = site_of(call, [x], [tiled])
    result = TARGETS["ZeroCrop"](site)
    assert isinstance(result, Value)
    assert result.type == tensor_of(4, of="si32")
    for bad in (shape("f32", 4), shape("si32", 2)):
        with pytest.raises(Unreadable, match="its result"):
            TARGETS["ZeroCrop"](site_of(custom_call("ZeroCrop", bad), [x], [shape("si32", 3)]))


def test_parts_in_memory_are_concatenated_along_the_dimension_that_they_share() -> None:
    parts = [np.arange(4, dtype=np.int32).reshape(2, 2), np.array([[7], [8]], np.int32)]
    found = evaluate_tpu_call("ConcatBitcast", shape("si32", 2, 3), *parts)
    assert found.tolist() == [[0, 1, 7], [2, 3, 8]]
    rows = evaluate_tpu_call("ConcatBitcast", shape("si32", 4, 2), parts[0], parts[0])
    assert rows.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
    with pytest.raises(Unreadable, match="its parts do not make up its result"):
        evaluate_tpu_call("ConcatBitcast", shape("si32", 2, 4), *parts)


def test_floats_are_sorted_in_total_order() -> None:
    keys = array([0.0, -0.0])
    (found,) = evaluate_instruction(
        TARGETS["__cub$DeviceRadixSort"],
        custom_call("__cub$DeviceRadixSort", tuple_shape(shape("f32", 2))),
        keys,
    )
    assert np.signbit(found).tolist() == [True, False]


def test_hints_change_nothing_and_buffers_are_zeros() -> None:
    indices = array([3, 1], "si32")
    found = evaluate_tpu_call("AssumeGatherIndicesInBound", shape("si32", 2), indices)
    assert found.tolist() == [3, 1]
    assert evaluate_tpu_call("AllocateBuffer", shape("f32", 2)).tolist() == [0.0, 0.0]
