"""Regions as functions: their types, and the op that is all that they apply."""

from __future__ import annotations

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
