"""XlaBuilder's windows: padding by name, with an odd element where it matters."""

from __future__ import annotations

from typing import Any

import pytest

from generators.families.xla.reduction import BUILDERS
from reference.ops.xla.windows import SAME, VALID, padding_along
from suites.meta.support.built_cases import assert_valid, built, operations


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "f32", 12))


@pytest.mark.parametrize("name", [SAME, VALID])
def test_padding_has_a_name(name: str) -> None:
    for op in ("ReduceWindow", "SelectAndScatter"):
        found = operations(built(BUILDERS[op], "f32", 12, {"padding": name}), op)
        assert {one.attribute("padding") for one in found} == {name}
        assert all(one.attribute("window_strides") is not None for one in found)


def test_an_odd_element_of_padding_is_asked_for() -> None:
    cases = built(BUILDERS["ReduceWindow"], "f32", 40, {"padding": "SAME, longer at the end"})
    assert_valid(cases)
    uneven = 0
    for one in operations(cases, "ReduceWindow"):
        windows: Any = one.attribute("window_dimensions")
        dilations: Any = one.attribute("window_dilations") or (1,) * len(windows)
        holes = ((n - 1) * d + 1 for n, d in zip(windows, dilations, strict=True))
        uneven += any(low != high for low, high in (padding_along(SAME, size) for size in holes))
        assert one.attribute("padding") == SAME
    assert uneven > 20


def test_names_of_a_reduction() -> None:
    found = operations(built(BUILDERS["Reduce"], "f32", 10), "Reduce")
    assert all(one.attribute("dimensions_to_reduce") is not None for one in found)
