"""Cases of XlaBuilder's products, convolutions and normalizations."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick
from generators.families import contraction, normalization, ragged
from generators.families.convolution import Form, convolution_case
from generators.families.xla.twins import rename_to_op, twins
from generators.programs.building import Builder, hide_choices
from reference.ir.program import Dense, Operation, TensorType
from reference.ir.types import ElementType
from reference.ops.table import OPS
from reference.ops.xla.contraction import OPS as RECORDS
from reference.ops.xla.contraction import (
    ConvolutionDimensionNumbers,
    DotDimensionNumbers,
    RaggedDotDimensionNumbers,
)
from reference.ops.xla.windows import padding_along


def _shared_attributes(operation: Operation) -> dict[str, Any]:
    """Return the attributes that products and convolutions share."""
    given: dict[str, Any] = {}
    if operation.attribute("precision_config"):
        given["precision_config"] = operation.attribute("precision_config")
    (result,), lhs = operation.results, operation.operands[0]
    assert isinstance(result.type, TensorType)
    assert isinstance(lhs.type, TensorType)
    if result.type.element_type != lhs.type.element_type:
        given["preferred_element_type"] = result.type.element.name
    return given


def _numbers(operation: Operation) -> DotDimensionNumbers:
    given: dict[str, Any] = dict(operation.attributes)
    return DotDimensionNumbers(
        given["lhs_contracting_dimensions"], given["rhs_contracting_dimensions"],
        given["lhs_batching_dimensions"], given["rhs_batching_dimensions"],
    )  # fmt: skip


def _dot_general(operation: Operation) -> dict[str, Any]:
    return {"dimension_numbers": _numbers(operation)} | _shared_attributes(operation)


def restate_ragged_dot(operation: Operation) -> dict[str, Any]:
    """Return the attributes of RaggedDot, given an operation of `chlo.ragged_dot`."""
    given: dict[str, Any] = dict(operation.attributes)
    numbers = RaggedDotDimensionNumbers(
        _numbers(operation), given["lhs_ragged_dimensions"], given["rhs_group_dimensions"]
    )
    return {"dimension_numbers": numbers} | _shared_attributes(operation)


def _convolution(named: str, mixed: bool, dilated: bool, operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = dict(operation.attributes)
    padding: Dense = given["padding"]
    shown: dict[str, Any] = {
        "window_strides": given["window_strides"],
        "padding": named or tuple(map(tuple, padding.array.tolist())),
        "feature_group_count": given["feature_group_count"],
        "batch_group_count": given["batch_group_count"],
    }
    if mixed:
        numbers = ConvolutionDimensionNumbers(
            *(given[name] for name in ConvolutionDimensionNumbers._fields)
        )
        shown["dimension_numbers"] = numbers
    if dilated:
        names = ("lhs_dilation", "rhs_dilation", "window_reversal")
        shown |= {name: given[name] for name in names}
    return shown | _shared_attributes(operation)


_FORMS = {
    "Conv": Form(mixed=False, dilated=False, named=padding_along, prefers=True),
    "ConvWithGeneralPadding": Form(mixed=False, dilated=False, prefers=True),
    "ConvWithGeneralDimensions": Form(dilated=False, named=padding_along, prefers=True),
    "ConvGeneral": Form(dilated=False, prefers=True),
    "ConvGeneralDilated": Form(prefers=True),
}


def _conv(name: str, element_type: ElementType, pick: Pick) -> Case:
    form = _FORMS[name]
    made, named = convolution_case(form, element_type, pick)
    restate = partial(_convolution, named, form.mixed, form.dilated)
    return Case(rename_to_op(made.program, OPS[name], restate), made.inputs)


_PREFERRING: dict[str, Builder] = {
    "dot": contraction.preferring_dot,
    # the page's op has no parameter for an algorithm
    "dot_general": hide_choices(partial(contraction.dot_general, may_narrow=True), "algorithm"),
    "chlo.ragged_dot": partial(ragged.ragged_dot, may_narrow=True),
}
"""Builders of the twins' cases with any `preferred_element_type`."""

_PLAIN = [record for record in RECORDS if record.name not in _FORMS]

BUILDERS: dict[str, Builder] = twins(
    normalization.BUILDERS | _PREFERRING,
    _PLAIN,
    {"Dot": _shared_attributes, "DotGeneral": _dot_general, "RaggedDot": restate_ragged_dot},
) | {name: hide_choices(partial(_conv, name), "defaults left out") for name in _FORMS}
"""The builder of each op's cases."""
