"""Constants of HLO modules, exact in every bit."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.literals import array_of, dense_of
from conformance.hlo.protos import Layout, Literal
from conformance.hlo.unreadable import Unreadable
from suites.meta.conformance.hlo.instructions import shape, tuple_shape
from suites.meta.support.small_programs import tensor_of


def test_numbers_and_bytes() -> None:
    integers = Literal(shape("si32", 2), s32s=[-1 & ((1 << 64) - 1), 5])
    assert array_of(integers).tolist() == [-1, 5]
    floats = np.array([1.5, -0.0], "<f4")
    assert array_of(Literal(shape("f32", 2), f32s=floats.tobytes())).tobytes() == floats.tobytes()
    flags = Literal(shape("i1", 2), preds=[1, 0])
    assert array_of(flags).tolist() == [True, False]


def test_elements_are_in_the_order_of_memory() -> None:
    of = shape("si32", 2, 3, layout=Layout([0, 1]))
    assert array_of(Literal(of, s32s=[0, 1, 2, 3, 4, 5])).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_complex_parts_stay_together() -> None:
    of = shape("complex<f32>", 2, 1, layout=Layout([0, 1]))
    data = np.array([1 + 2j, 3 - 4j], "<c8").tobytes()
    assert array_of(Literal(of, c64s=data)).tolist() == [[1 + 2j], [3 - 4j]]


def test_elements_below_a_byte_are_unpacked() -> None:
    of = shape("si4", 3)
    for data in (bytes([0x1F, 0x07]), bytes([0x0F, 0x01, 0x07])):
        assert array_of(Literal(of, s4s=data)).astype(np.int8).tolist() == [-1, 1, 7]


def test_constant_has_the_type_of_its_shape() -> None:
    dense = dense_of(Literal(shape("si32", 1), s32s=[7]))
    assert dense.type == tensor_of(1, of="si32")
    assert dense.array.tolist() == [7]


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
