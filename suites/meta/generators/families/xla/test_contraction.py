"""XlaBuilder's products and convolutions: numbers of dimensions, padding, preferred types."""

from __future__ import annotations

import pytest

from generators.families.xla.contraction import BUILDERS
from reference.ops.xla.contraction import DotDimensionNumbers, RaggedDotDimensionNumbers
from suites.meta.support.built_cases import assert_valid, built, operations, subjects

CONVOLUTIONS = (
    "Conv", "ConvWithGeneralPadding", "ConvWithGeneralDimensions", "ConvGeneral",
    "ConvGeneralDilated",
)  # fmt: skip


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 15))


def test_dimensions_are_numbers_of_a_struct() -> None:
    for op, of in (("DotGeneral", DotDimensionNumbers), ("RaggedDot", RaggedDotDimensionNumbers)):
        for one in operations(built(BUILDERS[op], "f32", 10), op):
            assert isinstance(one.attribute("dimension_numbers"), of)
            assert one.attribute("lhs_contracting_dimensions") is None


def test_a_preferred_type_is_stated_only_if_it_is_another() -> None:
    found = subjects(built(BUILDERS["DotGeneral"], "bf16", 80))
    assert {one.attribute("preferred_element_type") for one in found} >= {None, "f32"}
    for one in found:
        result = one.results[0].type.element.name  # type: ignore[union-attr]
        assert one.attribute("preferred_element_type") == (None if result == "bf16" else result)


@pytest.mark.parametrize("op", CONVOLUTIONS)
def test_attributes_of_each_convolution(op: str) -> None:
    """Padding has a name, or numbers; dimensions and dilations only where the op takes them."""
    for one in subjects(built(BUILDERS[op], "f32", 10)):
        assert isinstance(one.attribute("padding"), str) == (
            op in ("Conv", "ConvWithGeneralDimensions")
        )
        assert (one.attribute("dimension_numbers") is None) == (op in CONVOLUTIONS[:2])
        assert (one.attribute("lhs_dilation") is None) == (op != "ConvGeneralDilated")
