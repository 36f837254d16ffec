"""Quantization: storage types, scales per tensor and per axis, columns of quantized types."""

from __future__ import annotations

import pytest

from generators.case.quantized_types import QuantizedColumn
from generators.families.quantization import BUILDERS, dequantize_case, requantize_case
from reference.ir.program import QuantizedType, TensorType, ValueType
from reference.ir.types import element_type
from suites.meta.support.built_cases import assert_valid, built, pick_of, subjects

F32, SI8 = element_type("f32"), element_type("si8")


def quantized_type_of(of: ValueType) -> QuantizedType | None:
    assert isinstance(of, TensorType)
    return of.element_type if isinstance(of.element_type, QuantizedType) else None


@pytest.mark.parametrize(("op", "side"), [("uniform_quantize", 1), ("uniform_dequantize", 0)])
def test_every_storage_type_per_tensor_and_per_axis(op: str, side: int) -> None:
    cases = built(BUILDERS[op], "f32", 150)
    assert_valid(cases)
    types = [
        quantized_type_of((one.operands, one.results)[side][0].type) for one in subjects(cases)
    ]
    assert all(of is not None and of.expressed_type == F32 for of in types)
    assert {of.storage_type.name for of in types if of} == {
        f"{sign}i{bits}" for sign in "su" for bits in (2, 4, 8, 16, 32)
    }
    assert {of.quantization_dimension is None for of in types if of} == {True, False}


@pytest.mark.parametrize("per_axis", [True, False])
def test_operands_have_the_type_of_the_column(per_axis: bool) -> None:
    column = QuantizedColumn(SI8, F32, per_axis)
    for seed in range(20):
        for make in (requantize_case, dequantize_case):
            made = make(column, pick_of(seed))
            assert_valid([made])
            of = quantized_type_of(made.program.subject.operands[0].type)
            assert of is not None
            assert of.storage_type == SI8
            if per_axis and 0 not in made.program.subject.operands[0].type.static_shape:  # type: ignore[union-attr]
                assert of.quantization_dimension is not None


def test_codes_are_requantized_to_any_storage_type() -> None:
    column = QuantizedColumn(SI8, F32, False)
    results = {
        of.storage_type.name
        for seed in range(60)
        if (
            of := quantized_type_of(
                requantize_case(column, pick_of(seed)).program.subject.results[0].type
            )
        )
    }
    assert len(results) >= 8
