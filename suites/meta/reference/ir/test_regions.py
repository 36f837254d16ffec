"""Regions as functions: their types, and the op that is all that they apply."""

from __future__ import annotations

import pytest

from generators.regions.bodies import BodyBuilder
from reference.ir.monoid import ADD
from reference.ir.program import Operation, QuantizedType, Region, TensorType, Value
from reference.ir.regions import Body, argument_types, monoid_of, output_types
from reference.ir.types import ElementType, element_type

F32, SI8 = element_type("f32"), element_type("si8")


def region(
    op: str = "add",
    operands: str = "ab",
    returned: str = "r",
    of: ElementType | QuantizedType = F32,
) -> Region:
    """Return a region with arguments a and b, whose only op, on `operands`, returns r."""
    scalar = TensorType((), of)
    named = {name: Value(name, scalar) for name in "abcr"}
    applied = Operation(op, tuple(named[name] for name in operands), (named["r"],))
    end = Operation("return", tuple(named[name] for name in returned))
    return Region((named["a"], named["b"]), (applied, end))


def test_types_of_a_region() -> None:
    scalar = TensorType((), F32)
    assert argument_types(region()) == (scalar, scalar)
    assert output_types(region(returned="rr")) == (scalar, scalar)
    assert output_types(Region((), ())) == ()
    assert output_types(Region((), region().operations[:1])) == ()  # nothing is returned


def test_a_monoid_applies_one_op_to_both_arguments_in_either_order() -> None:
    assert monoid_of(region()) is ADD
    assert monoid_of(region(operands="ba")) is ADD


@pytest.mark.parametrize(
    ("op", "of", "wide", "same"),
    [
        ("add", "bf16", "f32", True),
        ("add", "f16", "f32", True),
        ("maximum", "f16", "f32", True),
        ("multiply", "f16", "f32", True),
        ("multiply", "bf16", "f32", False),  # products below f32's range are rounded twice
        ("add", "f16", "bf16", False),
        ("add", "f32", "f32", True),
        ("add", "si8", "si32", False),  # a number out of range is converted in no stated way
    ],
)
def test_an_op_in_a_wider_type_is_the_op_where_it_rounds_once(
    op: str, of: str, wide: str, same: bool
) -> None:
    block = BodyBuilder.of(element_type(of), element_type(of))
    a, b = (block.op("convert", one, to=element_type(wide)) for one in block.arguments)
    total = block.op("reshape", block.op(op, a, b))
    found = monoid_of(block.finish_region(block.op("convert", total, to=element_type(of))))
    assert (found is not None) is same


def test_everything_else_is_none() -> None:
    assert monoid_of(region("subtract")) is None
    assert monoid_of(region(operands="aa")) is None
    assert monoid_of(region(operands="ac")) is None  # c is defined outside
    assert monoid_of(region(returned="a")) is None
    assert monoid_of(Region(region().arguments, region().operations[1:])) is None


def test_codes_are_rounded_at_each_step() -> None:
    assert monoid_of(region(of=QuantizedType(SI8, -128, 127, F32, (1.0,), (0,)))) is None


def test_a_body_is_called_once_or_in_every_lane() -> None:
    body = Body(region(), lambda *_: ("once",), lambda *_: ("lanes",), lambda _: body)
    assert body() == ("once",)
    assert body.lanes() == ("lanes",)
    assert body.monoid is ADD
