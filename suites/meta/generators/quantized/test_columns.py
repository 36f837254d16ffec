"""Quantized columns: which ops have them, and that every case has a quantized value."""

from __future__ import annotations

import pytest

from generators.case.quantized_types import PER_AXIS, PER_TENSOR
from generators.quantized.columns import quantized_case, quantized_columns
from reference.interpreter.quantized import has_per_axis_values, has_quantized_values
from suites.meta.support.built_cases import assert_valid, pick_of


def test_columns_of_an_op() -> None:
    assert quantized_columns("transpose") == (*PER_TENSOR, PER_AXIS)
    assert quantized_columns("uniform_quantize") == (*PER_TENSOR, PER_AXIS)
    assert quantized_columns("multiply") == PER_TENSOR


@pytest.mark.parametrize("op", ["fft", "while", "and"])
def test_ops_that_take_no_quantized_tensors_or_no_floats_have_none(op: str) -> None:
    assert quantized_columns(op) == ()


@pytest.mark.parametrize("op", ["multiply", "transpose", "bitcast_convert"])
def test_cases_are_valid_and_quantized(op: str) -> None:
    for column in quantized_columns(op):
        cases = [quantized_case(op, column, pick_of(seed)) for seed in range(6)]
        assert_valid(cases)
        for case in cases:
            assert any(map(has_quantized_values, case.program.walk()))
            assert any(map(has_per_axis_values, case.program.walk())) == column.per_axis
