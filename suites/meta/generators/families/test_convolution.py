"""Convolutions: every attribute, windows of the whole image, bounded cost."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from generators.families.convolution import BUILDERS, Form, convolution_case
from reference.ir.program import Operation
from reference.ir.types import element_type
from reference.ops.xla.windows import padding_along
from suites.meta.support.built_cases import assert_valid, built, pick_of, sizes, subjects

CONVOLUTION = BUILDERS["convolution"]


def padding_of(operation: Operation) -> list[list[int]]:
    padding: Any = operation.attribute("padding")
    return [] if padding is None else padding.array.tolist()


def test_every_attribute_varies() -> None:
    found = subjects(built(CONVOLUTION, "f32", 300))
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        given: Any = [one.attribute(name) for one in found]
        assert None in given  # left out
        assert any(one and max(one) > 1 for one in given)
    reversals: Any = [one.attribute("window_reversal") for one in found]
    assert any(one and any(one) for one in reversals)
    assert {one.attribute("feature_group_count") for one in found} >= {1, 2, 3}
    assert {one.attribute("batch_group_count") for one in found} >= {1, 2, 3}
    paddings = [number for one in found for pair in padding_of(one) for number in pair]
    assert min(paddings) < 0 < max(paddings)


def test_dimensions_are_in_any_order() -> None:
    found = subjects(built(CONVOLUTION, "f32", 100))
    assert {one.attribute("input_batch_dimension") for one in found} >= {0, 1, 2}
    assert {one.attribute("kernel_output_feature_dimension") for one in found} >= {0, 1, 2}


def test_cases_are_valid_and_cheap() -> None:
    cases = built(CONVOLUTION, "f32", 100)
    assert_valid(cases)
    for one in subjects(cases):
        if str(sizes(one)) == str((2, 16, 15, 8)):
            continue  # the large case
        assert prod(sizes(one, -1)) <= 2048
        assert max(prod(sizes(one)), prod(sizes(one, 1))) <= 4096


@pytest.mark.parametrize(
    ("fit", "reversed_"), [("whole image", False), ("whole image, reversed", True)]
)
def test_a_window_as_large_as_the_image(fit: str, reversed_: bool) -> None:
    cases = built(
        CONVOLUTION, "f32", 20, {"windows": fit, "spatial dimensions": "2", "large": "no"}
    )
    for one in subjects(cases):
        attributes: Any = dict(one.attributes)
        image = [sizes(one)[d] for d in attributes["input_spatial_dimensions"]]
        window = [sizes(one, 1)[d] for d in attributes["kernel_spatial_dimensions"]]
        assert image == window
        assert not any(map(any, padding_of(one)))
        assert attributes.get("window_reversal", (False, False)) == (reversed_, reversed_)


def test_an_image_may_lack_room_for_any_window() -> None:
    """ "empty" leaves sizes as they are drawn; otherwise there is a window in each dimension."""
    empty = subjects(built(CONVOLUTION, "f32", 60, {"windows": "empty", "data": "some"}))
    assert any(0 in sizes(one, -1) for one in empty)
    some = subjects(
        built(CONVOLUTION, "f32", 60, {"windows": "some", "data": "some", "long image": "no"})
    )
    assert not any(0 in sizes(one, -1) for one in some)


def test_a_form_restricts_attributes_and_names_its_padding() -> None:
    form = Form(mixed=False, dilated=False, named=padding_along)
    for seed in range(20):
        made, name = convolution_case(form, element_type("f32"), pick_of(seed))
        one = made.program.subject
        assert one.attribute("input_batch_dimension") == 0
        assert one.attribute("input_feature_dimension") == 1
        assert set(one.attribute("lhs_dilation")) <= {1}  # type: ignore[arg-type]
        spatial: Any = one.attribute("kernel_spatial_dimensions")
        window = [sizes(one, 1)[d] for d in spatial]
        assert padding_of(one) == [[*padding_along(name, size)] for size in window]


def test_padding_of_a_dynamic_convolution_fits_its_type() -> None:
    cases = built(BUILDERS["dynamic_conv"], "f32", 60)
    assert_valid(cases)
    types = {str(one.operands[2].type.element_type) for one in subjects(cases)}  # type: ignore[union-attr]
    assert {"si4", "si64"} <= types
    assert {len(case.program.main.arguments) for case in cases} >= {2, 3}  # known, or comes late
