"""Quantized types of a case: storage ranges, scales, zero points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.case.choices import Pick
from generators.case.quantized_types import (
    PER_AXIS,
    PER_TENSOR,
    QuantizationParameters,
    draw_quantized_type,
    move_axis,
)
from reference.ir.program import TensorType
from reference.ir.types import element_type
from reference.ops.quantization import violated_type_constraints

SI8, UI8, SI16, F16, F32 = (element_type(name) for name in ("si8", "ui8", "si16", "f16", "f32"))
ALL_CODES = QuantizationParameters(SI8, -128, 127, F32)


def constant(number: int) -> Pick:
    return Pick(lambda count: min(number, count - 1))


def test_names_of_columns() -> None:
    assert [str(one) for one in PER_TENSOR] == ["q<si4:f32>", "q<si8:f32>", "q<ui8:f32>"]
    assert str(PER_AXIS) == "q<si8:f32:axis>"


def test_a_range_is_whole_six_in_eight_times() -> None:
    ranges = [QuantizationParameters.draw(SI8, F32, constant(number)) for number in range(8)]
    assert ranges[:6] == [ALL_CODES] * 6
    assert ranges[6] == replace(ALL_CODES, storage_min=-127)
    assert ranges[7] == replace(ALL_CODES, storage_min=-64, storage_max=63)


def test_another_storage_type_has_all_its_codes() -> None:
    narrow = QuantizationParameters(SI8, -64, 63, F32)
    assert narrow.replace_storage(SI16) == QuantizationParameters(SI16, -(2**15), 2**15 - 1, F32)


def test_the_simplest_type() -> None:
    simple = draw_quantized_type(ALL_CODES, constant(0))
    assert (simple.scales, simple.zero_points) == ((1.0,), (0,))
    assert simple.quantization_dimension is None


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("parameters", [ALL_CODES, QuantizationParameters(UI8, 0, 127, F16)])
def test_every_type_is_valid(number: int, parameters: QuantizationParameters) -> None:
    for axis in (None, 0):
        drawn = draw_quantized_type(parameters, constant(number), axis=axis, size=3)
        assert len(drawn.scales) == len(drawn.zero_points) == (1 if axis is None else 3)
        assert list(violated_type_constraints(TensorType((3,), drawn))) == []


def test_zero_points_reach_the_ends_of_the_range() -> None:
    drawn = {draw_quantized_type(ALL_CODES, constant(n)).zero_points[0] for n in range(10)}
    assert drawn == {0, -128, 127, 1, -1, 3}
    unsigned = QuantizationParameters(UI8, 0, 255, F32)
    drawn = {draw_quantized_type(unsigned, constant(n)).zero_points[0] for n in range(10)}
    assert drawn == {0, 255, 128, 1, 3}


def test_a_symmetric_type_has_zero_points_of_0() -> None:
    for number in range(10):
        drawn = draw_quantized_type(ALL_CODES, constant(number), symmetric=True, axis=0, size=2)
        assert drawn.zero_points == (0, 0)


def test_neighbours_along_an_axis_have_scales_of_their_own() -> None:
    drawn = draw_quantized_type(ALL_CODES, constant(0), axis=1, size=12)
    assert len(set(drawn.scales)) == 9
    assert drawn.scales[:3] == drawn.scales[9:]
    assert move_axis(drawn, 0) == replace(drawn, quantization_dimension=0)
