"""The forms of an op in a sweep."""

from __future__ import annotations

import pytest

from conformance.sweep.variants import VARIANTS, Variant, variants_of
from reference.ir.types import element_type

F32, F64 = element_type("f32"), element_type("f64")


def test_conversions_go_to_other_types_of_at_most_32_bits() -> None:
    labels = {one.label for one in variants_of("convert", F32)}
    assert "to bf16" in labels
    assert "to si32" in labels
    assert not labels & {"to f32", "to f64", "to si64", "to complex<f32>"}
    assert all(one.result is not None and not one.attributes for one in variants_of("convert", F32))


def test_named_types_may_be_wider() -> None:
    (found,) = variants_of("convert", F32, ["f64", "f32"])
    assert found == Variant("to f64", (), F64)


def test_comparisons_have_all_directions_and_orders() -> None:
    found = variants_of("compare", F32)
    directions = {one.label.split()[0] for one in found}
    assert directions == {"EQ", "NE", "GE", "GT", "LE", "LT"}
    assert {one.label.split()[1] for one in found} == {"FLOAT", "TOTALORDER"}


def test_precisions_include_tf32() -> None:
    found = {one.label: dict(one.attributes) for one in variants_of("reduce_precision", F32)}
    assert found["e8m10"] == {"exponent_bits": 8, "mantissa_bits": 10}


def test_other_ops_have_one_form() -> None:
    assert variants_of("tanh", F32) == [Variant()]


@pytest.mark.parametrize("op", VARIANTS)
def test_labels_tell_the_forms_apart(op: str) -> None:
    labels = [one.label for one in variants_of(op, F32)]
    assert len(set(labels)) == len(labels) > 1
