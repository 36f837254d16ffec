"""Near misses of CHLO's constants."""

from __future__ import annotations

import pytest

from generators.invalid.chlo import constants
from suites.meta.support.near_misses import assert_separate


@pytest.mark.parametrize("op", constants.NEAR_MISSES)
def test_each_near_miss_breaks_the_constraint_that_it_names(op: str) -> None:
    assert_separate(constants, op)
