"""Facts about an op's numbers."""

from __future__ import annotations

from conformance.needs.arising import of_divide
from conformance.needs.indices import of_gather
from conformance.needs.numbers import ANY_NUMBERS, Numbers
from conformance.needs.passed import of_add


def test_rules_of_operands_are_asked_in_order() -> None:
    assert Numbers(passed=of_add, arising=of_divide).needs == (of_divide, of_add)
    assert Numbers(indices=of_gather).needs == (of_gather,)


def test_an_op_on_any_numbers_needs_nothing() -> None:
    assert ANY_NUMBERS.needs == ()
    assert ANY_NUMBERS.range is None
