"""Facts about an op's numbers."""

from __future__ import annotations

from conformance.needs.indices import gather_indices
from conformance.needs.numbers import ANY_NUMBERS, Numbers
from conformance.needs.operand_needs import divide_needs
from conformance.needs.propagation import propagate_add


def test_rules_of_operands_are_asked_in_order() -> None:
    assert Numbers(propagation=propagate_add, needs=divide_needs).rules == (
        divide_needs,
        propagate_add,
    )
    assert Numbers(indices=gather_indices).rules == (gather_indices,)


def test_an_op_on_any_numbers_needs_nothing() -> None:
    assert ANY_NUMBERS.rules == ()
    assert ANY_NUMBERS.range is None
