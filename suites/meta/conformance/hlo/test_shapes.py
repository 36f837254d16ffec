"""Types and layouts of HLO's shapes, and the order of elements in memory."""

from __future__ import annotations

import pytest

from conformance.hlo.protos import Layout, Shape, Tile
from conformance.hlo.shapes import (
    TOKEN,
    array_type_of,
    element_of,
    is_tiled,
    leaf_types,
    leaves,
    major_to_minor,
    offsets,
    order_of,
    tree_of,
    type_of,
)
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import TokenType, Value
from suites.meta.conformance.hlo.instructions import shape, tuple_shape
from suites.meta.support.small_programs import tensor_of


def test_element_types_have_xlas_numbers() -> None:
    assert element_of(Shape(11)).name == "f32"
    assert element_of(Shape(36)).name == "f6E2M3FN"
    with pytest.raises(Unreadable, match="type opaque"):
        element_of(Shape(14))
    with pytest.raises(Unreadable, match="type 99"):
        element_of(Shape(99))


def test_dynamic_sizes_have_bounds() -> None:
    of = array_type_of(shape("f32", 3, 4, is_dynamic_dimension=[0, 1]))
    assert (of.shape, of.bounds) == ((3, None), (None, 4))
    assert array_type_of(shape("f32", 3)) == tensor_of(3)


def test_nested_tuples_are_flattened_in_order_and_put_together_again() -> None:
    whole = tuple_shape(shape("f32"), tuple_shape(shape("si32", 2), Shape(TOKEN)))
    types = list(leaf_types(whole))
    assert types == [tensor_of(), tensor_of(2, of="si32"), TokenType()]
    values = [Value(f"v{n}", of) for n, of in enumerate(types)]
    tree = tree_of(whole, iter(values))
    assert tree == (values[0], (values[1], values[2]))
    assert list(leaves(tree)) == values
    assert type_of(Shape(TOKEN)) == TokenType()


def laid_out(sizes: list[int], minor_to_major: list[int], *tiles: list[int]) -> Shape:
    return Shape(11, sizes, layout=Layout(minor_to_major, [Tile(one) for one in tiles]))


def test_without_a_layout_the_last_dimension_is_the_fastest() -> None:
    assert major_to_minor(shape("f32", 2, 3)) == (0, 1)
    assert major_to_minor(laid_out([2, 3], [0, 1])) == (1, 0)
    assert offsets(shape("f32", 2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert offsets(laid_out([2, 3], [0, 1])).tolist() == [[0, 2, 4], [1, 3, 5]]


def test_elements_of_a_tile_are_together() -> None:
    """Tiles of 2 x 2: the second begins at 4, and the third column is followed by padding."""
    tiled = laid_out([2, 3], [1, 0], [2, 2])
    assert is_tiled(tiled)
    assert not is_tiled(shape("f32", 2))
    assert offsets(tiled).tolist() == [[0, 1, 4], [2, 3, 6]]


def test_tiles_of_tiles_cut_the_last_dimensions_again() -> None:
    packed = laid_out([2, 2], [1, 0], [2, 2], [2, 1])
    assert offsets(packed).tolist() == [[0, 2], [1, 3]]


def test_tiles_may_merge_dimensions() -> None:
    """The smallest number merges a dimension with the next: rows of 3 follow each other."""
    merged = laid_out([2, 3], [1, 0], [-(1 << 63), 2])
    assert offsets(merged).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_units_of_the_target_are_found_in_the_memory_of_the_source() -> None:
    source, target = laid_out([2, 2], [0, 1]), shape("f32", 2, 2)
    assert order_of(source, target).tolist() == [0, 2, 1, 3]
    assert order_of(shape("f32", 2), shape("f32", 1), held=1, wanted=2).tolist() == [0, 1]
    padded = laid_out([1, 1], [1, 0], [1, 2])
    assert order_of(padded, shape("f32", 1, 2)).tolist() == [0, -1]
