"""The tolerance rule of each op."""

from __future__ import annotations

import pytest

from conformance.catalog import CATALOG
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule
from conformance.tolerance.table import BITS, DATA, ROUNDED, RULES
from reference.ir.types import FLOATS


def test_every_op_has_a_rule_of_the_table() -> None:
    """The rule of a map is made from the rules of the ops in its computation."""
    others = {name for name, row in CATALOG.items() if row.tolerance not in RULES.values()}
    assert others == {"map", "Map"}


@pytest.mark.parametrize("name", RULES)
def test_rule_says_what_it_permits_and_by_which_source(name: str) -> None:
    rule = RULES[name]
    for one in (rule, *(other for _, other in rule.by_hardware)):
        assert one.name
        assert one.text
        assert one.source


@pytest.mark.parametrize("name", RULES)
def test_budgets_are_at_least_a_correct_rounding(name: str) -> None:
    for hardware in Hardware:
        rule: Rule = RULES[name].hardware_rule(hardware)
        budgets = [rule.budget(of, hardware) for of in FLOATS]
        assert all(one is None or one >= 0 for one in budgets)


def test_data_has_no_budget_and_only_bits_of_nans_matter_to_casts() -> None:
    of = FLOATS[0]
    assert DATA.budget(of, Hardware.CPU) is None
    assert (DATA.nan_bits, BITS.nan_bits) == (False, True)
    assert ROUNDED.budget(of, Hardware.CPU) == 0
