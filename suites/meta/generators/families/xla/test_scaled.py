"""Products with scales: forms of a scale, and types of operands, scales and results."""

from __future__ import annotations

from typing import Any

import pytest

from generators.families.xla.scaled import BLOCKS, BUILDERS, EACH, ONE, ROWS, TILES
from suites.meta.support.built_cases import assert_valid, built, sizes, subjects

SCALED = BUILDERS["ScaledDot"]


@pytest.mark.parametrize("form", [BLOCKS, ROWS, TILES, EACH, ONE])
def test_a_scale_of_a_form(form: str) -> None:
    cases = built(SCALED, "f8E4M3FN", 40, {"lhs_scale": form, "large": "no"})
    assert_valid(cases)
    for one in subjects(cases):
        lhs, scale = sizes(one), sizes(one, 1)
        numbers: Any = one.attribute("dimension_numbers")
        for d, (whole, part) in enumerate(zip(lhs, scale, strict=True)):
            contracted = d in numbers.lhs_contracting_dimensions
            if form in (EACH, ONE):
                assert part == (whole if form == EACH else 1)
            elif form == ROWS:
                assert part == (1 if contracted else whole)
            elif form == BLOCKS and not contracted:
                assert part == whole
            assert part == whole == 0 or whole % part == 0


def test_blocks_are_larger_than_one_and_smaller_than_all() -> None:
    proper = 0
    for one in subjects(built(SCALED, "f8E4M3FN", 60, {"lhs_scale": BLOCKS})):
        proper += any(1 < p < w for w, p in zip(sizes(one), sizes(one, 1), strict=True))
    assert proper > 20


def test_types_are_chosen_for_each_operand_and_stated_for_the_result() -> None:
    found = subjects(built(SCALED, "f8E4M3FN", 120))
    scales = {str(one.operands[1].type.element) for one in found}  # type: ignore[union-attr]
    assert scales == {"f8E8M0FNU", "bf16", "f8E4M3FN"}
    assert {str(one.operands[2].type.element) for one in found} >= {"f8E4M3FN", "f8E5M2", "bf16"}  # type: ignore[union-attr]
    for one in found:
        result = one.results[0].type.element.name  # type: ignore[union-attr]
        stated = one.attribute("preferred_element_type")
        assert stated == (None if result == "f8E4M3FN" else result)
