"""Cases of CHLO's elementwise ops: valid, with values at the edges of each function."""

from __future__ import annotations

import pytest

from generators.families.chlo.functions import BUILDERS, VALUES
from suites.meta.support.built_cases import assert_valid, built


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_are_valid(op: str) -> None:
    assert_valid(built(BUILDERS[op], "si8" if op == "chlo.mulhi" else "bf16", 4))


def test_gamma_functions_are_tried_at_their_poles_and_zeros() -> None:
    for name in ("digamma", "lgamma"):
        cases = built(BUILDERS[f"chlo.{name}"], "f32", 40)
        used = {profile for one in cases for recipe in one.inputs for profile in recipe.profiles}
        assert "gamma_edges" in used


def test_values_belong_to_ops() -> None:
    assert {f"chlo.{name}" for name in VALUES} <= set(BUILDERS)
