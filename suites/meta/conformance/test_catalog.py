"""The catalogue: columns of operations, the page of covered ops, records and limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance.catalog import CATALOG, column_of
from conformance.limits import IDENTITY, LIMITS, Limits, identity_of
from conformance.listing import coverage_page
from conformance.verdict import Record, Verdict
from generators.case.columns import Invalid
from generators.cells.plan import cases
from reference.ops.table import OPS
from reference.ops.xla.page import HEADINGS, UNSUPPORTED_HEADINGS

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


PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"


def test_the_page_is_what_the_command_prints() -> None:
    mend = "hlo-conformance ops --format markdown > docs/coverage.md"
    assert PAGE.read_text() == coverage_page(), mend


def test_every_op_of_xla_has_a_heading_and_every_heading_its_ops() -> None:
    ops = [op for several in HEADINGS.values() for op in several]
    assert sorted(ops) == sorted(op for op, row in CATALOG.items() if row.dialect == "xla")
    assert not HEADINGS.keys() & UNSUPPORTED_HEADINGS.keys()
    assert all(UNSUPPORTED_HEADINGS.values())


def test_the_id_of_a_record_is_safe_in_a_shell() -> None:
    record = Record("add", "complex<f32>", "cpu", 17, "0", Verdict.PASS)
    assert record.id == "add-complex_f32-cpu-17"


@dataclass(frozen=True)
class Options:
    """Options of a made-up command."""

    seed: int = field(default=7, metadata=IDENTITY)
    some_ops: tuple[str, ...] = field(default=("add",), metadata=IDENTITY)
    jobs: int = 2
    limits: Limits = field(default=LIMITS)


def test_results_depend_on_marked_options_and_on_all_limits() -> None:
    found: dict[str, Any] = identity_of(Options())
    assert found["seed"] == 7
    assert found["some ops"] == ["add"]
    assert "jobs" not in found
    assert {"timeout", "memory limit"} <= {*found}
    assert found != identity_of(Options(limits=Limits(LIMITS.timeout / 2)))
    assert found == identity_of(Options(jobs=1))
