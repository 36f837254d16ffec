"""64-bit values as pairs, and the other custom calls of the compiler for TPUs."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.custom_calls.tpu import TARGETS
from conformance.hlo.protos import Layout, Tile
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TokenType, Value
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    site_of,
)
from suites.meta.support.small_programs import array, tensor_of


def evaluate_call(target: str, result, *operands: np.ndarray) -> np.ndarray:
    (found,) = evaluate_instruction(TARGETS[target], custom_call(target, result), *operands)
    return found


WORDS = [0, 1, -1, 2**40 + 7, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("half", ["si32", "ui32"])
def test_integer_is_its_low_and_its_high_word(half: str) -> None:
    x = array(WORDS, "si64")
    low, high = (
        evaluate_call(target, shape(half, 6), x) for target in ("X64SplitLow", "X64SplitHigh")
    )
    assert low.view(np.uint32).tolist() == [n % 2**32 for n in WORDS]
    assert high.view(np.int32).tolist() == [n >> 32 for n in WORDS]
    assert evaluate_call("X64Combine", shape("si64", 6), low, high).tolist() == WORDS


def test_float_is_its_rounded_half_and_the_remainder() -> None:
    x = array([1 + 2.0**-30, np.inf, -0.0], "f64")
    low, high = (
        evaluate_call(target, shape("f32", 3), x) for target in ("X64SplitLow", "X64SplitHigh")
    )
    assert low.tolist() == [1.0, np.inf, 0.0]
    assert high.tolist() == [2.0**-30, 0.0, 0.0]
    back = evaluate_call("X64Combine", shape("f64", 3), low, high)
    assert back.tobytes() == x.tobytes()


def test_complex_number_is_its_parts() -> None:
    x = array([1 - 2j], "complex<f32>")
    assert evaluate_call("X128SplitLow", shape("f32", 1), x).tolist() == [1.0]
    assert evaluate_call("X128SplitHigh", shape("f32", 1), x).tolist() == [-2.0]
    parts = array([1.0]), array([-2.0])
    assert evaluate_call("X128Combine", shape("complex<f32>", 1), *parts).tolist() == [1 - 2j]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("InvertDiagBlocksLowerTriangular", [[0.5, 0.0], [-0.5, 1.0]]),
        ("InvertDiagBlocksUpperTriangular", [[0.5, -4.0], [0.0, 1.0]]),
    ],
)
def test_triangle_is_inverted(target: str, found: list[list[float]]) -> None:
    matrix = np.array([[2.0, 8.0], [1.0, 1.0]], np.float32)
    assert evaluate_call(target, shape("f32", 2, 2), matrix).tolist() == found


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


def test_hints_change_nothing_and_buffers_are_zeros() -> None:
    indices = array([3, 1], "si32")
    found = evaluate_call("AssumeGatherIndicesInBound", shape("si32", 2), indices)
    assert found.tolist() == [3, 1]
    assert evaluate_call("AllocateBuffer", shape("f32", 2)).tolist() == [0.0, 0.0]


def test_a_call_that_aggregates_masks_is_a_token() -> None:
    sizes = Value("sizes", tensor_of(1, of="si32"))
    call = custom_call("MaskAggregatorBlock", shape("f32"))
    site = site_of(call, [sizes], [shape("si32", 1)])
    result = TARGETS["MaskAggregatorBlock"](site)
    assert isinstance(result, Value)
    assert result.type == TokenType()


def test_parts_in_memory_are_concatenated_along_the_dimension_that_they_share() -> None:
    parts = [np.arange(4, dtype=np.int32).reshape(2, 2), np.array([[7], [8]], np.int32)]
    found = evaluate_call("ConcatBitcast", shape("si32", 2, 3), *parts)
    assert found.tolist() == [[0, 1, 7], [2, 3, 8]]
    rows = evaluate_call("ConcatBitcast", shape("si32", 4, 2), parts[0], parts[0])
    assert rows.tolist() == [[0, 1], [2, 3], [0, 1], [2, 3]]
    with pytest.raises(Unreadable, match="its parts do not make up its result"):
        evaluate_call("ConcatBitcast", shape("si32", 2, 4), *parts)
