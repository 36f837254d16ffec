"""Near misses of XlaBuilder's ops that create, convert and move data."""

from __future__ import annotations

from collections.abc import Iterator

from generators.invalid.gathering import NEAR_MISSES as GATHERING
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.xla.restated import restate_misses
from reference.ir.types import element_type
from reference.ops.xla.shapes import Shape

_F32, _SI8, _SI32 = element_type("f32"), element_type("si8"), element_type("si32")


def _bitcast(op: str) -> Iterator[Miss]:
    types = {"operand": tensor(_SI8, 2, 3)}
    yield "P1", program(op, types, (tensor(_SI32, 2),), new_element_type="si32")
    types = {"operand": tensor(_SI8)}
    yield "P1", program(op, types, (tensor(_SI32),), new_element_type="si32")


def _broadcast_in_dim(op: str) -> Iterator[Miss]:
    types, result = {"operand": tensor(_F32, 3)}, (tensor(_F32, 2, 3),)
    for id_, dimensions in (("P1", (2,)), ("P1", ()), ("P1", (-1,)), ("P2", (0,))):
        given = {"out_dim_size": (2, 3), "broadcast_dimensions": dimensions}
        yield id_, program(op, types, result, (), **given)
    types = {"operand": tensor(_F32, 3, 3)}
    given = {"out_dim_size": (3, 3), "broadcast_dimensions": (1, 1)}
    yield "P1", program(op, types, (tensor(_F32, 3, 3),), (), **given)


def _collapse(op: str) -> Iterator[Miss]:
    types = {"operand": tensor(_F32, 4, 2, 3)}
    for dimensions in ((1, 0), (0, 2), (2, 3), (-1,)):
        yield "P1", program(op, types, (tensor(_F32, 24),), dimensions=dimensions)


def _reshape(op: str) -> Iterator[Miss]:
    types = {"operand": tensor(_F32, 2, 3)}
    for sizes in ((5,), (), (2, 4), (0,)):
        yield "P1", program(op, types, (tensor(_F32, *sizes),), dimensions=sizes)


def _order_misses(op: str) -> Iterator[Miss]:
    types, result = {"operand": tensor(_F32, 2, 3)}, (tensor(_F32, 6),)
    for order in ((0,), (0, 0), (1, 2), (-1, 0), (0, 1, 2)):
        yield "P1", program(op, types, result, dimensions=order, new_sizes=(6,))
    yield "P2", program(op, types, (tensor(_F32, 5),), dimensions=(1, 0), new_sizes=(5,))
    yield "P2", program(op, types, (tensor(_F32, 2, 4),), new_sizes=(2, 4))


def _explicit(op: str) -> Iterator[Miss]:
    types = {"operand": tensor(_F32, 2, 3)}
    yield "P1", program(op, types, (tensor(_F32, 5),), shape=Shape("f32", (5,)))
    yield "P1", program(op, types, (tensor(_SI32, 6),), shape=Shape("si32", (6,)))


def _iota(op: str) -> Iterator[Miss]:
    for dimension in (2, -1):
        given = {"shape": Shape("f32", (2, 3)), "iota_dimension": dimension}
        yield "P1", program(op, {}, (tensor(_F32, 2, 3),), (), **given)


def _pad(op: str) -> Iterator[Miss]:
    types, result = {"operand": tensor(_F32, 3), "padding_value": tensor(_F32)}, (tensor(_F32, 5),)
    config = ((1, 1, 0),)
    other = types | {"padding_value": tensor(_SI32)}
    yield "P1", program(op, other, result, padding_config=config)
    other = types | {"padding_value": tensor(_F32, 1)}
    yield "P1", program(op, other, result, padding_config=config)
    yield "P2", program(op, types, result, padding_config=())
    yield "P2", program(op, types, result, padding_config=config * 2)
    yield "P3", program(op, types, result, padding_config=((2, 2, -1),))


def _dynamic_reshape(op: str) -> Iterator[Miss]:
    types = {"operand": tensor(_F32, 2, 3), "size0": tensor(_SI32)}
    for id_, sizes in (("P1", (6, 1)), ("P2", (5,))):
        given = {"new_size_bounds": sizes, "dims_are_dynamic": (False,) * len(sizes)}
        yield id_, program(op, types, (tensor(_F32, *sizes),), (), **given)


NEAR_MISSES: dict[str, Misses] = {
    "BitcastConvertType": _bitcast,
    "BroadcastInDim": _broadcast_in_dim,
    "Collapse": _collapse,
    "DynamicReshape": _dynamic_reshape,
    "Iota": _iota,
    "Pad": _pad,
    "Reshape": _reshape,
    "Reshape (explicit)": _explicit,
    "Reshape (ordered)": _order_misses,
    "Scatter": restate_misses(GATHERING["scatter"]),
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
