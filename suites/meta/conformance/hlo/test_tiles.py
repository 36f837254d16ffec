"""Bitcasts among layouts with tiles."""

from __future__ import annotations

import pytest

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret_layout
from conformance.hlo.protos import Layout, Shape, Tile
from reference.ir.program import Value
from suites.meta.support.small_programs import tensor_of

F32 = 11


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
