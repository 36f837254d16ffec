"""Elements in the padding of tiles: what operations may compute with them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.hlo.building import Building
from conformance.hlo.moving import reinterpret_layout
from conformance.hlo.padding import is_padded, pad_to_tiles, stated_shape, whole_tiles
from conformance.hlo.protos import Layout, Shape, Tile
from conformance.hlo.read import Unreadable
from conformance.hlo.site import Site
from reference.ir.program import Value
from suites.meta.conformance.hlo.instructions import instruction, shape, site_of, tuple_shape
from suites.meta.support.small_programs import tensor_of


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
