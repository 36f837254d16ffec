"""Cells of each backend are counted by status, and no backend is blamed for another."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from conformance.catalog import CATALOG
from conformance.results.lines import lines_of
from conformance.results.standings import CellStatus, conclusion, failures, percent, standings
from conformance.verdict import Record, Verdict
from suites.meta.support import synthetic_run as synthetic

NAMES = ("cpu", "gpu", "plugin:x")


def run_of(*outcomes: tuple[Verdict, str]):
    """Make a run of one case of `add` for each outcome, on one backend after the other."""
    generator = random.Random(1)
    records: list[Record] = []
    cells = [("add", "f32", name) for name in NAMES[: len(outcomes)]]
    for cell, (verdict, known) in zip(cells, outcomes, strict=True):
        passing = synthetic.passes(cell, 0, CATALOG["add"], generator)
        records.append(
            synthetic.failure(cell, 0, verdict, known=known)
            if verdict.fails
            else replace(passing, verdict=verdict)
        )
    return synthetic.run_of(records, {}, cells, backends=NAMES[: len(outcomes)])


PASS, NEW = (Verdict.PASS, ""), (Verdict.DIVERGENT, "")
KNOWN, REFUSED = (Verdict.DIVERGENT, "f8-rounding"), (Verdict.UNSUPPORTED, "")


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([PASS], "The cpu backend conforms in the 1 cell tested."),
        ([NEW], "The cpu backend does not conform: 1 case fails, new, in 1 of 1 cells tested."),
        ([KNOWN], "The cpu backend does not conform: 1 case fails, known, in 1 of 1 cells tested."),
        ([REFUSED], "Nothing was tested, so this says nothing about conformance."),
        ([PASS, PASS], "All 2 backends conform in every cell tested."),
        ([PASS, NEW], "gpu does not conform: 1 case fails, new. The other backend conforms."),
        (
            [PASS, PASS, KNOWN],
            "plugin:x does not conform: 1 case fails, known. The other 2 conform.",
        ),
        (
            [PASS, NEW, KNOWN],
            "1 of 3 backends conforms. gpu has most new failures: 1 case fails, new.",
        ),
        (
            [NEW, KNOWN],
            "None of 2 backends conforms. cpu has most new failures: 1 case fails, new.",
        ),
        (
            [PASS, REFUSED],
            (
                "1 of 2 backends was tested and shows no divergence; "
                "no planned cell is supported by the rest."
            ),
        ),
    ],
)
def test_conclusion_blames_only_backends_that_fail(outcomes, said):
    assert conclusion(standings(run_of(*outcomes))) == said


@pytest.mark.slow
def test_cells_add_up_on_every_backend():
    run = synthetic.run("full")
    (one,) = standings(run)
    assert one.planned == len(run.planned)
    assert one.cells[CellStatus.NEW] == sum(cell.new > 0 for cell in run.cells.values())
    assert one.failing == sum(record.verdict.fails for record in run.records)
    assert one.tested == run.summary["denominators"]["cells_tested"]


def test_cells_that_the_filters_left_out_have_no_status():
    (one,) = standings(synthetic.run("passing"))
    assert (one.planned, one.cells[CellStatus.CONFORMS], one.status) == (4, 4, "conforms")


def test_the_console_has_a_line_for_each_backend():
    lines = lines_of(run_of(PASS, NEW), "")
    assert "cpu conforms in the 1 cell tested. 1 of 1 cells conform (100 %)" in lines
    failing = "gpu does not conform: 1 case fails, new, in 1 of 1 cells tested."
    assert f"{failing} 0 of 1 cells conform (0 %); 1 with new divergences" in lines


def test_shares_are_rounded_down_and_counts_agree_in_number():
    assert [percent(*of) for of in ((0, 0), (1, 1), (9_999, 10_000), (1, 3), (0, 7))] == [
        "–", "100 %", "99.9 %", "33.3 %", "0 %",
    ]  # fmt: skip
    assert failures(3, 0) == "3 cases fail, all of them new"
    assert failures(0, 1_200) == "1,200 cases fail, all of them known"
    assert failures(3, 20) == "23 cases fail, 3 of them new"
