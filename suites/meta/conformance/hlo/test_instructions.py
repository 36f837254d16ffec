"""HLO instructions and layouts, evaluated: opcodes, constants, products and padding of tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.convolved_products import Part, part_of, product, product_parts
from conformance.hlo.folding import padding_of
from conformance.hlo.literals import array_of
from conformance.hlo.moving import reinterpret, reinterpret_layout
from conformance.hlo.opcodes import HANDLERS
from conformance.hlo.padding import pad_to_tiles
from conformance.hlo.protos import (
    CholeskyOptions,
    ConvolutionDimensions,
    Layout,
    Literal,
    Shape,
    Tile,
    TriangularSolveOptions,
    WindowDimension,
)
from conformance.hlo.shapes import array_type_of
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, Value
from reference.ir.types import ELEMENT_TYPES, Array
from suites.meta.conformance.hlo.instructions import (
    evaluate_instruction,
    instruction,
    shape,
    site_of,
    tuple_shape,
)
from suites.meta.support.small_programs import array, tensor_of


def evaluate_opcode(opcode: str, of: str, *operands: Array, **given) -> Array:
    one = instruction(opcode, shape(of, *operands[0].shape), **given)
    (found,) = evaluate_instruction(HANDLERS[opcode], one, *operands)
    return found


def test_mixed_precision_computes_in_the_widest_type() -> None:
    """1 + 2^-9 is no bf16, but the sum with 1 rounds once."""
    x, y = array([1.0], "bf16"), array([2.0**-9])
    assert evaluate_opcode("add", "f32", x, y).tolist() == [1 + 2.0**-9]
    assert evaluate_opcode("subtract", "bf16", x, y).astype(np.float32).tolist() == [1.0]


@pytest.mark.parametrize(
    ("given", "equal"),
    [
        ({}, True),
        ({"comparison_order": "TOTAL"}, False),
        ({"comparison_type": "TOTALORDER"}, False),
    ],
)
def test_total_order_is_stated_in_either_way(given: dict[str, str], equal: bool) -> None:
    zeros = array([0.0]), array([-0.0])
    found = evaluate_opcode("compare", "i1", *zeros, comparison_direction="EQ", **given)
    assert found.tolist() == [equal]


WIDE = [0, 1, -1, 2**63 - 1, -(2**63), 0x123456789ABCDEF, -0x7654321FEDCBA98]


@pytest.mark.parametrize("of", ["si64", "ui64", "si32", "ui32"])
def test_high_halves_of_products_are_exact(of: str) -> None:
    bits = int(of[2:])
    storage = np.dtype(f"{'u' if of[0] == 'u' else ''}int{bits}")
    numbers = np.array([n % 2**bits for n in WIDE], np.uint64).astype(f"uint{bits}").view(storage)
    x, y = (one.ravel() for one in np.meshgrid(numbers, numbers))
    found = evaluate_opcode("mulhi", of, x, y)
    assert found.tolist() == [(int(a) * int(b)) >> bits for a, b in zip(x, y, strict=True)]


X, Y = Value("x", tensor_of(2)), Value("y", tensor_of(2))
RESULT = shape("f32", 2)


def tree(opcode: str, *operands, result=RESULT, **given):
    return HANDLERS[opcode](site_of(instruction(opcode, result, **given), operands))


def test_a_copy_in_mixed_precision_converts() -> None:
    one = instruction("copy", shape("bf16", 1))
    (found,) = evaluate_instruction(HANDLERS["copy"], one, array([1 + 2.0**-12]))
    assert found.astype(np.float32).tolist() == [1.0]
    assert tree("copy", (X, Y)) == (X, Y)


def test_a_copy_that_was_started_ends_with_its_operand() -> None:
    started = tree("copy-start", X)
    assert tree("copy-done", started) is X
    assert tree("async-done", ((X,), Y, ())) is Y
    for opcode in ("copy-done", "async-done"):
        with pytest.raises(Unreadable, match="not started"):
            tree(opcode, X)


def test_numbers_and_bytes() -> None:
    integers = Literal(shape("si32", 2), s32s=[-1 & ((1 << 64) - 1), 5])
    assert array_of(integers).tolist() == [-1, 5]
    floats = np.array([1.5, -0.0], "<f4")
    assert array_of(Literal(shape("f32", 2), f32s=floats.tobytes())).tobytes() == floats.tobytes()
    flags = Literal(shape("i1", 2), preds=[1, 0])
    assert array_of(flags).tolist() == [True, False]


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        (Literal(tuple_shape()), "only constant arrays"),
        (Literal(None), "only constant arrays"),
        (Literal(shape("si32", 3), s32s=[1]), "1 of 3 elements"),
    ],
)
def test_tuples_and_missing_elements_are_not_read(literal: Literal, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        array_of(literal)


def _tiled_shape(sizes: list[int], *tile: int, of: str = "f32") -> Shape:
    order = [*range(len(sizes))][::-1]
    return shape(of, *sizes, layout=Layout(order, [Tile(list(tile))]))


STATED = _tiled_shape([3, 129], 4, 128)
WIDE_ROWS, NARROW_ROWS = Value("wide", tensor_of(4, 256)), Value("narrow", tensor_of(3, 129))
SCALAR = Value("scalar", tensor_of())


def _add(lhs: Value, rhs: Value, *shapes: Shape) -> Site:
    return site_of(instruction("add", shapes[0]), [lhs, rhs], shapes)


def test_scalars_are_broadcast_to_padding() -> None:
    site = _add(WIDE_ROWS, NARROW_ROWS, STATED, STATED)
    many = site.building.one(
        "broadcast_in_dim", (SCALAR,), tensor_of(3, 129), broadcast_dimensions=()
    )
    found = pad_to_tiles(replace(site, operands=(WIDE_ROWS, many)))
    assert found.value(1).type == tensor_of(4, 256)
    made = site.building.operations[-1]
    assert (made.name, made.operands, made.results) == (
        "broadcast_in_dim", (SCALAR,), (found.value(1),)
    )  # fmt: skip


def test_padding_of_other_operands_is_unknown() -> None:
    with pytest.raises(Unreadable, match="nothing says what is in the padding"):
        pad_to_tiles(_add(WIDE_ROWS, NARROW_ROWS, STATED, STATED))


def test_tiles_of_several_sizes_have_no_meaning() -> None:
    other = _tiled_shape([3, 129], 8, 128, of="bf16")
    site = site_of(instruction("convert", other), [WIDE_ROWS], [STATED])
    with pytest.raises(Unreadable, match="tiles of several sizes"):
        pad_to_tiles(site)


def test_elements_are_not_lost_where_tiles_have_more_dimensions() -> None:
    source, target = _tiled_shape([516, 4], 8, 128), _tiled_shape([2064], 8, 128)
    with pytest.raises(Unreadable, match="padding that no tile has"):
        reinterpret_layout(Building(), Value("x", tensor_of(516, 4)), source, target)


F32_NUMBER = 11


@pytest.mark.parametrize("name", ["f6E2M3FN", "f6E3M2FN"])
def test_all_numbers_of_six_bits_are_their_codes_as_bytes_and_back(name: str) -> None:
    of = tensor_of(64, of=name)
    inner = Building().inner()
    value = inner.value(of)
    code = reinterpret(inner, value, ELEMENT_TYPES["ui8"])
    back = reinterpret(inner, code, of.element)
    body = inner.region([value], [code, back])
    program = Program((Function("main", body, (code.type, back.type)),))
    numbers = np.arange(64, dtype=np.uint8).view(of.storage)
    codes, again = evaluate(program, [numbers])
    np.testing.assert_array_equal(codes, np.arange(64))
    np.testing.assert_array_equal(again.view(np.uint8), np.arange(64))


def _shape(sizes: list[int], rows: int) -> Shape:
    return Shape(F32_NUMBER, sizes, layout=Layout([1, 2, 0], [Tile([rows, 128])]))


@pytest.mark.parametrize(("columns", "sizes"), [(128, (2, 128, 8)), (129, (2, 256, 8))])
def test_elements_in_the_padding_of_tiles_are_not_lost(
    columns: int, sizes: tuple[int, ...]
) -> None:
    """With 129 columns the elements of the last are where a device pads the columns before."""
    source, target = _shape([4, columns, 4], 4), _shape([2, columns, 8], 8)
    value = Value("x", tensor_of(4, columns, 4))
    assert reinterpret_layout(Building(), value, source, target).type == tensor_of(*sizes)


def evaluate_product(opcode: str, result, *operands, **given) -> np.ndarray:
    one = instruction(opcode, result, **given)
    return evaluate_instruction(HANDLERS[opcode], one, *operands)[0]


@pytest.mark.parametrize(
    ("transpose", "found"), [(0, [0.5, 0.0]), (1, [0.5, 0.0]), (2, [0.25, 0.5])]
)
def test_solver_transposes_by_xlas_number(transpose: int, found: list[float]) -> None:
    """The lower triangle is [[2, 0], [1, 1]]; the right side is (1, 0.5)."""
    lower = np.array([[2.0, 0.0], [1.0, 1.0]], np.float32)
    right = np.array([[1.0], [0.5]], np.float32)
    options = TriangularSolveOptions(True, True, False, transpose)
    solved = evaluate_product(
        "triangular-solve", shape("f32", 2, 1), lower, right, triangular_solve_options=options
    )
    assert solved.ravel().tolist() == found


@pytest.mark.parametrize("opcode", ["ragged-dot", "triangular-solve", "rng"])
def test_options_that_are_missing_are_an_error(opcode: str) -> None:
    with pytest.raises(Unreadable):
        evaluate_product(opcode, shape("f32", 2), array([1.0, 2.0]), array([1.0, 2.0]))


BATCHING = WindowDimension(size=3, stride=2, base_dilation=3)
CONTRACTING = WindowDimension(size=4)
OF_LHS = WindowDimension(size=1)
OF_RHS = WindowDimension(size=5, padding_low=4, padding_high=4, window_reversal=True)
WINDOW = (BATCHING, CONTRACTING, OF_LHS, OF_RHS)

LHS = tensor_of(2, 6, 3, 4, 7, 1)
"""Batch and feature, then a dimension of each role."""

RHS = tensor_of(6, 8, 3, 4, 1, 5)
PRODUCT_RESULT = tensor_of(2, 8, 3, 1, 7, 5)

NUMBERS = ConvolutionDimensions(
    input_batch_dimension=0, input_feature_dimension=1, input_spatial_dimensions=[2, 3, 4, 5],
    kernel_input_feature_dimension=0, kernel_output_feature_dimension=1,
    kernel_spatial_dimensions=[2, 3, 4, 5],
    output_batch_dimension=0, output_feature_dimension=1, output_spatial_dimensions=[2, 3, 4, 5],
)  # fmt: skip


def _program(building: Building, result: Value) -> Program:
    values = (Value("lhs", LHS), Value("rhs", RHS))
    return Program((Function("main", building.region(values, (result,)), (PRODUCT_RESULT,)),))


def _results(inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Return the results of the convolution and of the product."""
    values, found = (Value("lhs", LHS), Value("rhs", RHS)), list[np.ndarray]()
    parts = product_parts(LHS, RHS, PRODUCT_RESULT, NUMBERS, WINDOW)
    assert parts is not None
    assert parts == [Part.BATCHING, Part.CONTRACTING, Part.OF_LHS, Part.OF_RHS]
    building = Building()
    read = product(building, values, PRODUCT_RESULT, NUMBERS, parts)
    found += evaluate(_program(building, read), inputs)
    building = Building()
    written = building.one(
        "convolution", values, PRODUCT_RESULT,
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


def test_elements_below_a_byte_are_unpacked() -> None:
    of = shape("si4", 3)
    for data in (bytes([0x1F, 0x07]), bytes([0x0F, 0x01, 0x07])):
        assert array_of(Literal(of, s4s=data)).astype(np.int8).tolist() == [-1, 1, 7]


MATRIX = np.array([[4.0, 2.0], [2.0, 3.0]], np.float32)


def test_cholesky_takes_the_lower_triangle_if_asked() -> None:
    lower = evaluate_product(
        "cholesky", shape("f32", 2, 2), MATRIX, cholesky_options=CholeskyOptions(True)
    )
    assert lower[1, 0] == 1
    upper = evaluate_product("cholesky", shape("f32", 2, 2), MATRIX)
    assert upper[0, 1] == 1


def test_state_of_the_devices_generator_is_zero() -> None:
    assert evaluate_product("rng-get-and-update-state", shape("ui64", 2)).tolist() == [0, 0]


def test_dynamic_sizes_have_bounds() -> None:
    of = array_type_of(shape("f32", 3, 4, is_dynamic_dimension=[0, 1]))
    assert (of.shape, of.bounds) == ((3, None), (None, 4))
    assert array_type_of(shape("f32", 3)) == tensor_of(3)
