"""Shapes of HLO, layouts with tiles, padding of tiles, and bitcasts among them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret, reinterpret_layout
from conformance.hlo.padding import is_padded, pad_to_tiles, stated_shape, whole_tiles
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
from conformance.hlo.site import Site
from conformance.hlo.unreadable import Unreadable
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, TokenType, Value
from reference.ir.types import ELEMENT_TYPES
from suites.meta.conformance.hlo.instructions import instruction, shape, site_of, tuple_shape
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


# --- Padding of tiles -----------------------------------------------------------------------------


def _tiled_shape(sizes: list[int], *tile: int, of: str = "f32") -> Shape:
    order = [*range(len(sizes))][::-1]
    return shape(of, *sizes, layout=Layout(order, [Tile(list(tile))]))


STATED = _tiled_shape([3, 129], 4, 128)
WIDE, NARROW = Value("wide", tensor_of(4, 256)), Value("narrow", tensor_of(3, 129))
SCALAR = Value("scalar", tensor_of())


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        (STATED, [4, 256]),
        (_tiled_shape([2, 3, 129], 4, 128), [2, 4, 256]),
        (_tiled_shape([4, 128], 4, 128), [4, 128]),
        (shape("f32", 3, 129), None),  # no tiles
        (_tiled_shape([129], 4, 128), None),  # more dimensions than the array has
        (_tiled_shape([3, 129], -(1 << 63), 128), None),  # merged dimensions
    ],
)
def test_whole_tiles_have_no_padding(given: Shape, sizes: list[int] | None) -> None:
    found = whole_tiles(given)
    assert (found and found.dimensions) == sizes


def test_value_in_whole_tiles_has_another_shape_than_stated() -> None:
    both = tuple_shape(STATED, STATED)
    assert is_padded(WIDE, STATED)
    assert is_padded((NARROW, WIDE), both)
    assert not is_padded(NARROW, STATED)
    assert not is_padded((NARROW, NARROW), both)
    assert stated_shape(WIDE, STATED).dimensions == [4, 256]
    assert stated_shape(NARROW, STATED) is STATED


def _add(lhs: Value, rhs: Value, *shapes: Shape) -> Site:
    return site_of(instruction("add", shapes[0]), [lhs, rhs], shapes)


def test_elementwise_operations_compute_padding() -> None:
    site = pad_to_tiles(_add(WIDE, WIDE, STATED, STATED))
    assert site.type == tensor_of(4, 256)
    plain = _add(NARROW, NARROW, STATED, STATED)
    assert pad_to_tiles(plain) is plain


def test_scalars_are_broadcast_to_padding() -> None:
    site = _add(WIDE, NARROW, STATED, STATED)
    many = site.building.one(
        "broadcast_in_dim", (SCALAR,), tensor_of(3, 129), broadcast_dimensions=()
    )
    found = pad_to_tiles(replace(site, operands=(WIDE, many)))
    assert found.value(1).type == tensor_of(4, 256)
    made = site.building.operations[-1]
    assert (made.name, made.operands, made.results) == (
        "broadcast_in_dim", (SCALAR,), (found.value(1),)
    )  # fmt: skip


def test_padding_of_other_operands_is_unknown() -> None:
    with pytest.raises(Unreadable, match="nothing says what is in the padding"):
        pad_to_tiles(_add(WIDE, NARROW, STATED, STATED))


def test_other_operations_have_no_meaning_in_padding() -> None:
    of = shape("f32", 3)
    site = site_of(instruction("reduce", of), [WIDE], [STATED])
    with pytest.raises(Unreadable, match="padding of tiles go into reduce"):
        pad_to_tiles(site)
    passing = site_of(instruction("fusion", STATED), [WIDE], [STATED])
    assert pad_to_tiles(passing) is passing


def test_tiles_of_several_sizes_have_no_meaning() -> None:
    other = _tiled_shape([3, 129], 8, 128, of="bf16")
    site = site_of(instruction("convert", other), [WIDE], [STATED])
    with pytest.raises(Unreadable, match="tiles of several sizes"):
        pad_to_tiles(site)


def test_elements_are_not_lost_where_tiles_have_more_dimensions() -> None:
    source, target = _tiled_shape([516, 4], 8, 128), _tiled_shape([2064], 8, 128)
    with pytest.raises(Unreadable, match="padding that no tile has"):
        reinterpret_layout(Building(), Value("x", tensor_of(516, 4)), source, target)


# --- Bitcasts -------------------------------------------------------------------------------------

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
