"""The catalogue: the column of an operation."""

from __future__ import annotations

import pytest

from conformance.catalog import CATALOG, column_of
from generators.case.columns import Invalid
from generators.cells.plan import cases
from reference.ops.table import OPS

NOT_TENSORS = {"after_all", "create_token", "get_tuple_element", "tuple"}
"""Ops whose cells are named after the types of their operands or regions."""

READ = [op for op in CATALOG if op not in NOT_TENSORS and OPS[op].lower is None]
"""Ops that a file can hold: those that are not lowered."""


@pytest.mark.parametrize("op", READ)
def test_an_operation_is_of_the_column_that_its_cases_are_in(op: str) -> None:
    names = {of.name for of in CATALOG[op].columns}
    for of in CATALOG[op].columns:
        if isinstance(of, Invalid):
            continue
        # a sort's key may stand among what is sorted along: then the first operand names the cell;
        # what is quantized anew may come with a scale a slice in a cell of one scale
        several = cases(op, of, 0, 8 if op == "sort" or of.name.startswith("q<") else 1)
        every = [
            [column_of(one) for one in case.program.walk() if one.name == op] for case in several
        ]
        found = next((found for found in every if found[-1:] == [of.name]), every[0])
        if op == "uniform_dequantize" and of.name.startswith("q<"):
            assert found[-1] in names  # the f32 that comes out names a cell as well
        else:
            assert found[-1:] == [of.name]
