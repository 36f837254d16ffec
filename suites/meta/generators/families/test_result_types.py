"""Element types of the results of products and convolutions."""

from __future__ import annotations

import pytest

from generators.case.choices import Pick
from generators.families.contraction import result_of
from reference.ir.notation import is_promotable
from reference.ir.types import ELEMENT_TYPES

SAME_PRECISION = (("f8E4M3", "f8E4M3FNUZ"), ("f8E5M2", "f8E5M2FNUZ"))


@pytest.mark.parametrize("may_narrow", [False, True])
@pytest.mark.parametrize("pair", [*SAME_PRECISION, *(one[::-1] for one in SAME_PRECISION)])
def test_a_result_may_have_another_type_of_the_same_precision(
    pair: tuple[str, str], may_narrow: bool
) -> None:
    own, other = (ELEMENT_TYPES[name] for name in pair)
    assert is_promotable(own, other)
    pick = Pick(lambda count: count - 1)
    result_of(own, pick, may_narrow=may_narrow)
    (asked,) = pick.asked
    assert {own.name, other.name} <= set(asked.offered)
