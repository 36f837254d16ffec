"""Bitcasts: of numbers of six bits, which no integer type holds, and among layouts with tiles."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret, reinterpret_layout
from conformance.hlo.protos import Layout, Shape, Tile
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.small_programs import tensor_of

F32 = 11


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
    return Shape(F32, sizes, layout=Layout([1, 2, 0], [Tile([rows, 128])]))


@pytest.mark.parametrize(("columns", "sizes"), [(128, (2, 128, 8)), (129, (2, 256, 8))])
def test_elements_in_the_padding_of_tiles_are_not_lost(
    columns: int, sizes: tuple[int, ...]
) -> None:
    """With 129 columns the elements of the last are where a device pads the columns before."""
    source, target = _shape([4, columns, 4], 4), _shape([2, columns, 8], 8)
    value = Value("x", tensor_of(4, columns, 4))
    assert reinterpret_layout(Building(), value, source, target).type == tensor_of(*sizes)
