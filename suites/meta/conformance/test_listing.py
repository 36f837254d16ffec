"""The page of covered ops, and the headings of XLA's page."""

from __future__ import annotations

from pathlib import Path

from conformance.backends.fake.faults import FAULTS
from conformance.catalog import CATALOG
from conformance.listing import backend_entries, coverage_page
from reference.ops.xla.page import HEADINGS, UNSUPPORTED_HEADINGS

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"


def test_the_page_is_what_the_command_prints() -> None:
    mend = "hlo-conformance ops --format markdown > docs/coverage.md"
    assert PAGE.read_text() == coverage_page(), mend


def test_conditions_stand_beside_the_ids_of_the_twin() -> None:
    """The page lists the constraints of StableHLO's scatter for Scatter."""
    (line,) = [one for one in PAGE.read_text().splitlines() if one.startswith("| Scatter |")]
    assert "P4 (C5) P5 (C1) P6 (C3) P7 (C4) P8 (C7, C8) P9 (C9, C10, C11) P10 (C2)" in line


def test_a_text_with_two_readings_is_listed_with_its_ops() -> None:
    lines = [one for one in PAGE.read_text().splitlines() if "padding SAME with a stride" in one]
    assert [one.split(" | ")[0] for one in lines] == [
        "| Conv, ConvWithGeneralDimensions, ReduceWindow, SelectAndScatter"
    ]


def test_parameters_and_forms_without_a_row_have_a_reason() -> None:
    assert UNSUPPORTED_HEADINGS["Map: static_operands"]
    assert UNSUPPORTED_HEADINGS["Sort(operand), without a comparator"]


def test_every_op_of_xla_has_a_heading_and_every_heading_its_ops() -> None:
    ops = [op for several in HEADINGS.values() for op in several]
    assert sorted(ops) == sorted(op for op, row in CATALOG.items() if row.dialect == "xla")
    assert not HEADINGS.keys() & UNSUPPORTED_HEADINGS.keys()
    assert all(UNSUPPORTED_HEADINGS.values())


def test_faults_are_listed_by_name_with_their_meanings() -> None:
    entries = {one["name"]: one for one in backend_entries(["reference:"])}
    assert len(entries) == len(FAULTS)
    assert entries["reference:nan_equal"]["device"] == "NaN equals NaN"
