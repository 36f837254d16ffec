"""Near misses of XlaBuilder's products, convolutions and normalizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generators.families.xla.contraction import restate_ragged_dot
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.ragged import NEAR_MISSES as RAGGED
from generators.invalid.xla.restated import restate_misses
from reference.ir.program import Program
from reference.ir.types import ElementType, element_type
from reference.ops.xla.contraction import DotDimensionNumbers, default_dimension_numbers

_F32, _SI32 = element_type("f32"), element_type("si32")

Sizes = tuple[int, ...]


def _product(
    op: str, lhs: Sizes, rhs: Sizes, result: Sizes, *, right: ElementType = _F32, **given: Any
) -> Program:
    types = {"lhs": tensor(_F32, *lhs), "rhs": tensor(right, *rhs)}
    return program(op, types, (tensor(_F32, *result),), **given)


def _dot(op: str) -> Iterator[Miss]:
    yield "P1", _product(op, (2, 2, 2), (2,), (2, 2))
    yield "P1", _product(op, (), (2,), (2,))
    yield "P1", _product(op, (2,), (2, 2, 2), (2, 2))
    for lhs, rhs, result in (((3,), (4,), ()), ((2, 3), (4,), (2,)), ((2, 3), (2, 3), (2, 3))):
        yield "P2", _product(op, lhs, rhs, result)
    yield "P3", _product(op, (2, 3), (3, 4), (2, 4), right=_SI32)
    yield "P3", _product(op, (3,), (3,), (), right=_SI32, preferred_element_type="f32")


def _dot_general(op: str) -> Iterator[Miss]:
    for id_, numbers in (
        ("P1", DotDimensionNumbers((1,), (1,))),
        ("P1", DotDimensionNumbers((2,), (0,))),
        ("P2", DotDimensionNumbers((1,), (0,), (0,), (1,))),
        ("P2", DotDimensionNumbers((1,), (0,), (-1,), (1,))),
    ):
        yield id_, _product(op, (2, 3), (3, 4), (2, 4), dimension_numbers=numbers)
    numbers = DotDimensionNumbers((1,), (0,))
    yield "P3", _product(op, (2, 3), (3, 4), (2, 4), right=_SI32, dimension_numbers=numbers)


def _conv(op: str) -> Iterator[Miss]:
    named = op in ("Conv", "ConvWithGeneralDimensions")
    given: dict[str, Any] = {
        "window_strides": (1,), "padding": "VALID" if named else ((0, 0),),
        "feature_group_count": 1, "batch_group_count": 1,
    }  # fmt: skip
    if op not in ("Conv", "ConvWithGeneralPadding"):
        given["dimension_numbers"] = default_dimension_numbers(1)
    if op == "ConvGeneralDilated":
        given |= {"lhs_dilation": (1,), "rhs_dilation": (1,)}
    plain = (2, 4, 5), (6, 4, 3), (2, 6, 3)
    yield "P1", _product(op, (2, 4), *plain[1:], **given)
    yield "P1", _product(op, plain[0], (6, 4), plain[2], **given)
    yield "P2", _product(op, (2, 3, 5), *plain[1:], **given)
    groups: dict[str, Any] = given | {"feature_group_count": 2}
    yield "P2", _product(op, *plain, **groups)
    groups = given | {"feature_group_count": 4}
    yield "P3", _product(op, (2, 16, 5), *plain[1:], **groups)
    groups = given | {"batch_group_count": 2}
    yield "P4", _product(op, (3, 4, 5), *plain[1:], **groups)
    yield "P5", _product(op, *plain, right=_SI32, **given)
    yield "P5", _product(op, *plain, right=_SI32, **given, preferred_element_type="f32")


NEAR_MISSES: dict[str, Misses] = {
    "Conv": _conv,
    "ConvGeneral": _conv,
    "ConvGeneralDilated": _conv,
    "ConvWithGeneralDimensions": _conv,
    "ConvWithGeneralPadding": _conv,
    "Dot": _dot,
    "DotGeneral": _dot_general,
    "RaggedDot": restate_misses(RAGGED["chlo.ragged_dot"], restate_ragged_dot),
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
