"""Cases of CHLO's top_k."""

from __future__ import annotations

import pytest

from generators.families.chlo.sorting import BUILDERS
from suites.meta.support.built_cases import assert_valid, built, subjects


@pytest.mark.parametrize("of", ["i1", "si4", "f8E4M3FN", "f64"])
def test_orders_that_are_stable_and_that_need_not_be(of: str) -> None:
    cases = built(BUILDERS["chlo.top_k"], of, 20)
    assert_valid(cases)
    assert {one.attribute("is_stable") for one in subjects(cases)} == {True, False}
