"""Shapes and types of cases: simple first, thresholds of kernels, quantized types, columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import pytest

from generators.case import shapes
from generators.case.choices import Pick
from generators.case.columns import INVALID, column
from generators.case.quantized_types import (
    PER_AXIS,
    PER_TENSOR,
    QuantizationParameters,
    draw_quantized_type,
    move_axis,
)
from generators.case.shapes import EMPTY, SMALL, THRESHOLD, WITH_ONE, axis, shape
from generators.case.types import bitcast_results
from reference.ir.program import TensorType
from reference.ir.types import ALL, ElementType, element_type
from reference.ops.quantization import violated_type_constraints
from suites.meta.support.built_cases import pick_of


def drawn(count: int = 300, min_rank: int = 0, **planned: str) -> list[tuple[int, ...]]:
    return [shape(pick_of(seed, planned), min_rank=min_rank) for seed in range(count)]


def test_the_simplest_shape() -> None:
    assert shape(Pick(lambda _: 0)) == ()
    assert shape(Pick(lambda _: 0), min_rank=1) == (1,)


def test_ranks_and_kinds_of_sizes() -> None:
    assert {len(one) for one in drawn(600)} == set(range(8))
    assert min(len(one) for one in drawn(min_rank=1)) == 1
    assert all(0 in one for one in drawn(min_rank=1, sizes=EMPTY))
    assert all(1 in one for one in drawn(min_rank=1, sizes=WITH_ONE))
    assert not any(0 in one for one in drawn(sizes=SMALL))
    assert all(max(one) <= 17 for one in drawn(min_rank=1, sizes=SMALL))
    reached = {size for one in drawn(min_rank=1, sizes=THRESHOLD) for size in one}
    assert {31, 33, 64, 127, 129, 256} <= reached
    many = drawn(4000)
    counts = sorted(map(prod, many))
    assert counts[len(counts) // 2] <= 64
    assert 1000 < counts[-1] <= 40_000
    sizes = {size for one in many for size in one}
    assert {0, 1, 2, 3, 1023, 1024, 1025, 8191, 8192, 8193} <= sizes


def test_a_given_shape_is_used_once_if_it_has_enough_dimensions() -> None:
    pick = Pick(lambda _: 0)
    pick.shape = (5, 6)
    assert [shape(pick), shape(pick)] == [(5, 6), ()]
    pick.shape = ()
    assert shape(pick, min_rank=1) == (1,)


@pytest.mark.parametrize(("rank", "reached"), [(1, {0}), (2, {0, 1}), (5, {0, 1, 2, 3, 4})])
def test_a_dimension_is_the_first_the_last_or_any(rank: int, reached: set[int]) -> None:
    assert {axis(pick_of(seed), rank, "axis") for seed in range(100)} == reached
    assert axis(pick_of(0, {"axis": "first"}), rank, "axis") == 0
    if rank > 1:
        assert axis(pick_of(0, {"axis": "last"}), rank, "axis") == rank - 1
    inner = {axis(pick_of(seed, {"axis": "inner"}), 5, "axis") for seed in range(50)}
    assert inner == {1, 2, 3}


@pytest.mark.parametrize(
    ("planned", "of", "large"), [("yes", "f32", True), ("no", "f32", False), ("yes", "si16", False)]
)
def test_only_types_with_kernels_of_their_own_get_large_operands(
    planned: str, of: str, large: bool
) -> None:
    assert shapes.is_large(pick_of(0, {"large": planned}), element_type(of)) is large


@pytest.mark.parametrize(
    ("given", "limited"),
    [((4, 6), (4, 6)), ((5, 5), (4, 4)), ((2, 100), (2, 12)), ((0, 100), (0, 100))],
)
def test_the_largest_sizes_are_reduced_until_there_are_few_elements(
    given: tuple[int, ...], limited: tuple[int, ...]
) -> None:
    assert shapes.limit_elements(given) == limited
    assert prod(limited) <= shapes.FEW == 24


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        (shapes.size_label, {0: "empty", 1: "1", 2: "small", 30: "small", 31: "threshold",
                             999: "threshold", 1000: "large"}),
        (shapes.step_label, {1: "1", 2: "more"}),
        (shapes.sizes_label, {(): "none", (1,): "1", (5,): "one", (1, 1): "several",
                              (2, 0): "empty"}),
        (shapes.capped_label(2), {0: "0", 1: "1", 2: "2 or more", 3: "2 or more"}),
        (shapes.rank_label, {0: "a scalar", 1: "1", 3: "3", 4: "4 or more", 7: "4 or more"}),
    ],
)  # fmt: skip
def test_labels(label: Callable[[Any], str], labels: dict[Any, str]) -> None:
    assert {given: label(given) for given in labels} == labels


# --- Types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ALL, ids=str)
def test_a_type_itself_comes_first_and_once_among_its_bitcasts(of: ElementType) -> None:
    results = bitcast_results(of)
    assert results[0] is of
    assert len(set(results)) == len(results)
    assert all(of in bitcast_results(to) for to in results)


def test_bits_of_the_wider_type_are_a_multiple() -> None:
    names = {of: {str(to) for to in bitcast_results(element_type(of))}
             for of in ("f32", "f6E2M3FN", "complex<f32>")}  # fmt: skip
    assert {"ui32", "si4", "f64", "bf16"} <= names["f32"]
    assert names["f6E2M3FN"] == {"i1", "si2", "ui2", "f6E2M3FN", "f6E3M2FN"}
    assert names["complex<f32>"] == {"complex<f32>", "complex<f64>"}


@pytest.mark.parametrize("one", [*ALL, *PER_TENSOR, PER_AXIS, INVALID], ids=str)
def test_a_column_is_found_by_its_name(one: object) -> None:
    assert column(str(one)) is one


def test_names_of_columns() -> None:
    assert [str(one) for one in PER_TENSOR] == ["q<si4:f32>", "q<si8:f32>", "q<ui8:f32>"]
    assert str(PER_AXIS) == "q<si8:f32:axis>"
    with pytest.raises(KeyError):
        column("q<f32:f32>")


# --- Quantized types: storage ranges, scales, zero points ----------------------------------------

SI8, UI8, SI16, F16, F32 = (element_type(name) for name in ("si8", "ui8", "si16", "f16", "f32"))
ALL_CODES = QuantizationParameters(SI8, -128, 127, F32)


def constant(number: int) -> Pick:
    return Pick(lambda count: min(number, count - 1))


def test_a_range_is_whole_six_in_eight_times() -> None:
    ranges = [QuantizationParameters.draw(SI8, F32, constant(number)) for number in range(8)]
    assert ranges[:6] == [ALL_CODES] * 6
    assert ranges[6] == replace(ALL_CODES, storage_min=-127)
    assert ranges[7] == replace(ALL_CODES, storage_min=-64, storage_max=63)


def test_another_storage_type_has_all_its_codes() -> None:
    narrow = QuantizationParameters(SI8, -64, 63, F32)
    assert narrow.replace_storage(SI16) == QuantizationParameters(SI16, -(2**15), 2**15 - 1, F32)


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("parameters", [ALL_CODES, QuantizationParameters(UI8, 0, 127, F16)])
def test_every_type_is_valid(number: int, parameters: QuantizationParameters) -> None:
    for dimension in (None, 0):
        made = draw_quantized_type(parameters, constant(number), axis=dimension, size=3)
        assert len(made.scales) == len(made.zero_points) == (1 if dimension is None else 3)
        assert list(violated_type_constraints(TensorType((3,), made))) == []
    made = draw_quantized_type(parameters, constant(number), symmetric=True, axis=0, size=2)
    assert made.zero_points == (0, 0)


def test_zero_points_reach_the_ends_of_the_range_from_the_simplest() -> None:
    simple = draw_quantized_type(ALL_CODES, constant(0))
    assert (simple.scales, simple.zero_points) == ((1.0,), (0,))
    assert simple.quantization_dimension is None
    unsigned = QuantizationParameters(UI8, 0, 255, F32)
    for of, points in ((ALL_CODES, {0, -128, 127, 1, -1, 3}), (unsigned, {0, 255, 128, 1, 3})):
        assert {draw_quantized_type(of, constant(n)).zero_points[0] for n in range(10)} == points


def test_neighbours_along_an_axis_have_scales_of_their_own() -> None:
    made = draw_quantized_type(ALL_CODES, constant(0), axis=1, size=12)
    assert len(set(made.scales)) == 9
    assert made.scales[:3] == made.scales[9:]
    assert move_axis(made, 0) == replace(made, quantization_dimension=0)
