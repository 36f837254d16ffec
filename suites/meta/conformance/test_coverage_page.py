"""The page of what is covered, and the headings of XLA's page."""

from __future__ import annotations

from pathlib import Path

from conformance.catalog import CATALOG
from conformance.listing import coverage_page
from reference.ops.xla.page import HEADINGS, LEFT_OUT

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"


def test_the_page_is_what_the_command_prints() -> None:
    mend = "hlo-conformance ops --format markdown > docs/coverage.md"
    assert PAGE.read_text() == coverage_page(), mend


def test_every_op_of_xla_has_a_heading_and_every_heading_its_ops() -> None:
    ops = [op for several in HEADINGS.values() for op in several]
    assert sorted(ops) == sorted(op for op, row in CATALOG.items() if row.dialect == "xla")
    assert not HEADINGS.keys() & LEFT_OUT.keys()
    assert all(LEFT_OUT.values())
