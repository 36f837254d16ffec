"""Scans and functions that StableHLO lacks, restated for XlaBuilder."""

from __future__ import annotations

import pytest

from generators.families.xla.extended import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, subjects


@pytest.mark.parametrize("op", BUILDERS)
def test_cases_of_every_op_are_valid(op: str) -> None:
    cases = built(BUILDERS[op], "f32", 15)
    assert_valid(cases)
    assert {one.name for one in subjects(cases)} == {op}


def test_the_promise_of_a_scan_is_stated_only_if_it_is_made() -> None:
    for planned, said in (("left out", {None}), ("yes", {True}), ("no", {False})):
        found = subjects(built(BUILDERS["Scan"], "si32", 10, {"is_associative": planned}))
        assert {one.attribute("is_associative") for one in found} == said
        assert {one.attribute("num_carries") for one in found} <= {1, 2}
