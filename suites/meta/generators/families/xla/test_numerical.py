"""XlaBuilder's random numbers: parameters by distribution, means in and out of range."""

from __future__ import annotations

import pytest

from generators.families.xla.numerical import BUILDERS
from reference.ops.xla.shapes import shape_of
from suites.meta.support.built_cases import assert_valid, built, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    of = {"RngBitGenerator": "ui32", "RngBernoulli": "ui32"}.get(op, "f32")
    assert_valid(built(BUILDERS[op], of, 10))


def test_a_shape_is_the_type_of_the_result() -> None:
    for op, of in (("RngUniform", "f32"), ("RngBernoulli", "ui32")):
        for one in subjects(built(BUILDERS[op], of, 10)):
            assert one.attribute("shape") == shape_of(one.results[0].type)  # type: ignore[arg-type]
    for one in subjects(built(BUILDERS["RngBitGenerator"], "ui32", 5)):
        assert one.attribute("shape") == shape_of(one.results[1].type)  # type: ignore[arg-type]
        assert one.attribute("algorithm") in ("DEFAULT", "PHILOX", "THREE_FRY")


@pytest.mark.parametrize(
    ("kind", "profiles"),
    [("between", {"shares"}), ("1", {"values:1"}), ("near an end", {"tiny", "near_one"})],
)
def test_means_of_a_kind(kind: str, profiles: set[str]) -> None:
    cases = built(BUILDERS["RngBernoulli"], "ui32", 30, {"mean": kind, "mean is": "a parameter"})
    assert {p for case in cases for recipe in case.inputs for p in recipe.profiles} == profiles


def test_deviations_of_normal_numbers_are_not_negative() -> None:
    planned = {"mu is": "a parameter", "sigma is": "a parameter"}
    rows = {
        recipe.profiles
        for case in built(BUILDERS["RngNormal"], "f32", 60, planned)
        for recipe in case.inputs
    }
    assert ("values:0", "values:1") in rows
    assert not any(sigma.startswith(("values:-", "within:-")) for _, sigma in rows)
