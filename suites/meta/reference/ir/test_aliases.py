"""An alias says which result shares the memory of which operand."""

from __future__ import annotations

from reference.ir.aliases import OutputOperandAlias


def test_fields_are_in_the_order_of_the_attribute() -> None:
    alias = OutputOperandAlias((1,), 2, (0, 3))
    assert alias == ((1,), 2, (0, 3))
    assert (alias.output_tuple_indices, alias.operand_index) == ((1,), 2)
    assert alias.operand_tuple_indices == (0, 3)
