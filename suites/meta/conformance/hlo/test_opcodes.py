"""The tables of opcodes and of targets of custom calls."""

from __future__ import annotations

import pytest

from conformance.hlo import (
    collectives,
    control,
    elementwise,
    folding,
    moving,
    opcodes,
    products,
)
from conformance.hlo.custom_calls import table

MODULES = (collectives, control, elementwise, folding, moving, products, table)


def test_each_opcode_is_in_one_table() -> None:
    assert len(opcodes.HANDLERS) == sum(len(module.HANDLERS) for module in MODULES)
    for module in MODULES:
        assert module.HANDLERS.items() <= opcodes.HANDLERS.items()


@pytest.mark.parametrize("opcode", opcodes.HANDLERS)
def test_opcodes_are_spelled_as_in_hlo(opcode: str) -> None:
    assert opcode.replace("-", "a").replace("2", "a").isalnum()
    assert opcode == opcode.lower()
    assert callable(opcodes.HANDLERS[opcode])


def test_the_tables_cover_numbers_loops_and_messages() -> None:
    names = {"add", "while", "all-reduce", "dot", "sort", "scatter", "custom-call"}
    assert names <= opcodes.HANDLERS.keys()
