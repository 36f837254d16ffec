"""Exit codes of runs without a baseline, and the floor of tested cells."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.errors import NOTHING_TESTED, UsageError
from conformance.gate.conclusion import backends_below, exit_code, floor_lines, parse_share
from conformance.results.left_out import LeftOut
from conformance.results.summary import RunData
from conformance.verdict import Record, Verdict

CELLS = [("add", of, "cpu") for of in ("f16", "f32", "f64", "si8")]


def run_with(*verdicts: Verdict, known: str = "") -> RunData:
    """Return a run of as many cells as verdicts, each with one case."""
    cells = CELLS[: len(verdicts)]
    records = [
        Record(*cell, 0, "0", verdict, known=known if verdict.fails else "")
        for cell, verdict in zip(cells, verdicts, strict=True)
    ]
    return RunData(records, {}, 0, "smoke", {}, planned=tuple(cells))


PASSING = run_with(Verdict.PASS, Verdict.UNSPECIFIED, Verdict.UNSUPPORTED)


@pytest.mark.parametrize(
    ("run", "strict", "code"),
    [
        (PASSING, True, 0),
        (run_with(Verdict.PASS, Verdict.DIVERGENT), False, 1),
        (run_with(Verdict.PASS, Verdict.DIVERGENT, known="entry"), True, 0),
        (run_with(Verdict.UNSUPPORTED, Verdict.UNSUPPORTED), False, NOTHING_TESTED),
        (replace(PASSING, stale=("entry",)), False, 0),
        (replace(PASSING, stale=("entry",)), True, 1),
        (replace(PASSING, incidents=("a worker crashed",)), False, 1),
        (replace(PASSING, planned=tuple(CELLS)), False, 1),  # a planned cell was not run
    ],
)
def test_the_exit_code_of_a_run(run: RunData, strict: bool, code: int) -> None:
    assert exit_code(run, strict=strict) == code


def test_a_cell_that_the_budget_left_out_does_not_fail_a_run() -> None:
    left = LeftOut(*CELLS[3], 5)
    assert exit_code(replace(PASSING, planned=tuple(CELLS), left_out=(left,))) == 0


def test_the_floor_counts_planned_cells_that_were_tested() -> None:
    assert not backends_below(PASSING, 2 / 3)
    (share,) = backends_below(PASSING, 0.9)
    assert (share.backend, share.tested, share.planned) == ("cpu", 2, 3)
    assert exit_code(PASSING, at_least=2 / 3) == 0
    assert exit_code(PASSING, at_least=0.9) == 1
    assert floor_lines(PASSING, None) == []
    assert floor_lines(PASSING, 0.9) == [
        "too few cells: 2 of 3 planned cells tested on cpu (66.7 %), --at-least asks for 90 %"
    ]


@pytest.mark.parametrize(("stated", "share"), [("95%", 0.95), ("0.5", 0.5), ("1", 1.0), ("0%", 0)])
def test_a_share_is_a_percentage_or_a_part_of_1(stated: str, share: float) -> None:
    assert parse_share(stated) == share


@pytest.mark.parametrize("stated", ["", "95", "-1%", "101%", "nan", "some"])
def test_any_other_share_is_refused(stated: str) -> None:
    with pytest.raises(UsageError, match=r"a share such as 95% or 0\.95"):
        parse_share(stated)
