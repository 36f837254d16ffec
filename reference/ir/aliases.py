"""Results of a custom call that share the memory of operands."""

from __future__ import annotations

from typing import NamedTuple


class OutputOperandAlias(NamedTuple):
    """A result (or an element of a tuple result) and the operand whose memory it shares.

    Source: StableHLO specification, `custom_call`; the fields are named as in MLIR's attribute.
    """

    output_tuple_indices: tuple[int, ...]
    operand_index: int
    operand_tuple_indices: tuple[int, ...]
