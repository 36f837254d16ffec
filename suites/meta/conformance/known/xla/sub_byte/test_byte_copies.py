"""Updates copied in whole bytes, as measured on an NVIDIA H200 and stated by optimised modules."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sub_byte.byte_copies import (
    LABEL,
    elements_per_byte,
    pack_bytes,
    unpack_bytes,
)
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array


def stored(values: object, element_type: str) -> Array:
    return np.array(values).astype(ELEMENT_TYPES[element_type].storage)


@pytest.mark.parametrize(
    ("of", "values", "memory"),
    [
        ("si4", [3, -5, -1], [0xB3, 0x0F]),
        ("ui2", [3, 0, 1, 2, 1], [0x93, 0x01]),
        ("f4E2M1FN", [0.5, -6.0], [0xF1]),
        ("si4", [[1, 2], [3, 4]], [0x21, 0x43]),
    ],
)
def test_first_element_has_the_lowest_bits_of_a_byte(
    of: str, values: list[float], memory: list[int]
) -> None:
    array = stored(values, of)
    packed = pack_bytes(array)
    assert packed.tolist() == memory
    assert (unpack_bytes(packed, array) == array).all()


def test_only_types_of_less_than_a_byte_share_bytes() -> None:
    types = ("ui2", "si4", "f4E2M1FN", "ui8", "i1", "f6E2M3FN", "f32", "complex<f64>")
    counts = [elements_per_byte(np.zeros(1, ELEMENT_TYPES[of].storage)) for of in types]
    assert counts == [4, 2, 2, 1, 1, 1, 1, 1]


def update_class(
    of: str, operand: Array, update: Array, starts: tuple[int, ...], actual: Array, on: str
) -> str:
    types = ["x".join([*map(str, one.shape), of]) for one in (operand, update)]
    names = [f"%i{number}" for number in range(len(starts))]
    constants = "\n".join(
        f"  {name} = stablehlo.constant dense<{start}> : tensor<i64>"
        for name, start in zip(names, starts, strict=True)
    )
    indices = ", ".join(["tensor<i64>"] * len(starts))
    program = parse_module(f"""
func.func @main(%x: tensor<{types[0]}>, %u: tensor<{types[1]}>) -> tensor<{types[0]}> {{
{constants}
  %0 = stablehlo.dynamic_update_slice %x, %u, {", ".join(names)}
    : (tensor<{types[0]}>, tensor<{types[1]}>, {indices}) -> tensor<{types[0]}>
  return %0 : tensor<{types[0]}>
}}""")
    inputs = (operand, update)
    expected = evaluate(program, inputs)
    return judge_operation(program, inputs, expected, (actual,), platform=on).kind


@pytest.mark.parametrize("on", [Hardware.GPU, Hardware.CPU])
@pytest.mark.parametrize(
    ("shape", "part", "starts", "offset"),
    [
        # measured: the update is at the end, as the offset is 1048577
        ((5,), (1,), (-1048577,), 2),
        # offsets in bytes that optimised modules state, clamped to the operand
        ((5,), (1,), (2,), 0),
        ((4, 6), (1, 2), (2, 3), 3),
        ((4, 6), (1, 1), (1, 2), 1),
        ((3, 3, 3), (1, 1, 3), (1, 1, 0), 0),
        ((2, 3, 4), (1, 1, 3), (1, 0, 2), 4),
        # the position is right, but the element behind the update becomes 0
        ((5,), (1,), (0,), 0),
        ((4, 3), (1, 3), (2, 0), 0),
    ],
)
def test_update_is_at_an_offset_of_whole_bytes(
    shape: tuple[int, ...], part: tuple[int, ...], starts: tuple[int, ...], offset: int, on: str
) -> None:
    operand, update = np.full(shape, 5), np.full(part, -3)
    memory, copied = (pack_bytes(stored(one, "si4")) for one in (operand, update))
    memory[offset : offset + copied.size] = copied
    actual = unpack_bytes(memory, stored(operand, "si4"))
    given = stored(operand, "si4"), stored(update, "si4")
    kind = update_class("i4", *given, starts, actual, on)
    assert (kind == LABEL) == (on == Hardware.GPU)
    other = np.roll(actual.reshape(-1), 1).reshape(shape)
    assert update_class("i4", *given, starts, other, on) != LABEL


def test_indices_of_whole_dimensions_do_not_move_an_update() -> None:
    operand, update = stored(np.full((4, 3), 5), "si4"), stored([[-3] * 3], "si4")
    moved, other = operand.reshape(-1).copy(), operand.reshape(-1).copy()
    moved[:4], other[2:6] = [-3, -3, -3, 0], [-3, -3, -3, 0]
    kinds = [
        update_class("i4", operand, update, (2, -7), one.reshape(4, 3), Hardware.GPU)
        for one in (moved, other)
    ]
    assert [kind == LABEL for kind in kinds] == [True, False]


def test_start_index_of_a_whole_dimension_may_be_a_parameter() -> None:
    """The element behind the update becomes 0."""
    program = parse_module("""
func.func @main(%x: tensor<1x2xi4>, %u: tensor<1x1xi4>, %i: tensor<i32>) -> tensor<1x2xi4> {
  %j = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j
    : (tensor<1x2xi4>, tensor<1x1xi4>, tensor<i32>, tensor<i32>) -> tensor<1x2xi4>
  return %0 : tensor<1x2xi4>
}""")
    inputs = stored([[0, 1]], "si4"), stored([[0]], "si4"), np.array(0, np.int32)
    expected = evaluate(program, inputs)
    got = [stored([[0, 0]], "si4")]
    assert judge_operation(program, inputs, expected, got, platform=Hardware.GPU).kind == LABEL


SCATTER = """
func.func @main(%x: tensor<SIZExi4>, %i: tensor<INDICESxi32>, %u: tensor<1xi4>) -> tensor<SIZExi4> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i4>, %b: tensor<i4>):
    stablehlo.return %b : tensor<i4>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
      scatter_dims_to_operand_dims = [DIMS], index_vector_dim = 0>}
    : (tensor<SIZExi4>, tensor<INDICESxi32>, tensor<1xi4>) -> tensor<SIZExi4>
  return %0 : tensor<SIZExi4>
}"""


@pytest.mark.parametrize(
    ("dims", "actual", "on", "is_copied"),
    [
        ("", [-1, 0], Hardware.GPU, True),
        ("", [-1, 1], Hardware.GPU, False),
        ("", [-1, 0], Hardware.CPU, False),
        ("0", [-1, 0], Hardware.GPU, False),
    ],
)
def test_scattered_window_without_indices_is_an_update(
    dims: str, actual: list[int], on: str, is_copied: bool
) -> None:
    count = 1 if dims else 0
    text = SCATTER.replace("SIZE", "2").replace("DIMS", dims).replace("INDICES", str(count))
    program = parse_module(text)
    inputs = stored([1, 3], "si4"), np.zeros(count, np.int32), stored([-1], "si4")
    expected = evaluate(program, inputs)
    assert expected[0].tolist() == [-1, 3]
    found = judge_operation(program, inputs, expected, [stored(actual, "si4")], platform=on)
    assert (found.kind == LABEL) == is_copied
