"""Quantized types that differ in one member, and near misses made of them."""

from __future__ import annotations

from dataclasses import fields

import pytest

from generators.invalid.quantized.elementwise import (
    BY_COLUMN,
    BY_ROW,
    CODES,
    HALF,
    NARROWER,
    OTHERS,
    misses,
    tensor,
)
from reference.interpreter.evaluate import check
from reference.ir.program import QuantizedType
from reference.ir.types import element_type

PARAMETERS = {"scales", "zero_points", "quantization_dimension"}


def differences(of: QuantizedType) -> set[str]:
    return {one.name for one in fields(of) if getattr(of, one.name) != getattr(CODES, one.name)}


def test_types_differ_in_other_members_than_the_parameters() -> None:
    assert differences(NARROWER) == {"storage_min"}
    assert differences(HALF) == {"expressed_type"}
    assert not any(differences(of) & PARAMETERS for of in OTHERS)


def test_types_per_axis_differ_in_parameters_only() -> None:
    assert differences(BY_ROW) == differences(BY_COLUMN) == PARAMETERS
    assert len(BY_ROW.scales) == tensor(BY_ROW).shape[0]
    assert len(BY_COLUMN.scales) == tensor(BY_COLUMN).shape[1]


@pytest.mark.parametrize(
    ("op", "ids"),
    [
        ("add", {"C2", "C3", "C4", "C5", "C6", "C7"}),
        ("subtract", {"C1"}),
        ("tanh", {"I1", "C1"}),
        ("abs", {"I1", "C2"}),
        ("not", {"I1"}),
        ("convert", {"I1"}),
        ("clamp", {"C3", "C4"}),
    ],
)
def test_constraints_on_quantized_tensors(op: str, ids: set[str]) -> None:
    found = list(misses(op))
    assert {id_ for id_, _ in found} == ids
    for id_, program in found:
        assert [broken for _, broken in check(program)] == [(id_,)]


def test_a_result_per_axis_is_of_another_dimension() -> None:
    """C6 of add: lhs and the result have one dimension of quantization."""
    for id_, program in misses("add"):
        if id_ == "C6":
            lhs, result = program.subject.operands[0].type, program.subject.results[0].type
            assert lhs.element_type != result.element_type  # type: ignore[union-attr]


def test_expressed_types_are_f32_and_f16() -> None:
    assert CODES.expressed_type == element_type("f32")
    assert HALF.expressed_type == element_type("f16")
