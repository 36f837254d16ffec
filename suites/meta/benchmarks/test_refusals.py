"""Whether first refusals predict later ones: cells, later cases, other verdicts and words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import refusals
from benchmarks.refusals import is_compiled, lines_of
from conformance.verdict import Record, Verdict
from suites.meta.support import synthetic_run as synthetic

RUN = synthetic.run("passing")


def row(of: str, *answers: tuple[Verdict, str]) -> list[Record]:
    return [
        Record("add", of, "cpu", index, f"{index:016x}", verdict, message=message)
        for index, (verdict, message) in enumerate(answers)
    ]


NO, WELL = (Verdict.UNSUPPORTED, "no"), (Verdict.PASS, "")
RECORDS = [
    *row("f32", NO, NO, NO),
    *row("f16", NO, NO, WELL, (Verdict.UNSUPPORTED, "never")),
    *row("f64", WELL, NO),
    *row("invalid", NO, NO),
]


@pytest.fixture
def compile_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all cases be compiled."""
    monkeypatch.setattr(refusals, "is_compiled", lambda *_: True)


@pytest.mark.usefixtures("compile_all")
def test_later_cases_of_cells_whose_first_were_refused_alike() -> None:
    first, one, two, three, four = lines_of(replace(RUN, records=RECORDS))
    assert first == "9 cases, 7 refused, 7 of them by compiling"
    assert one.endswith("2 cells, 5 later cases: 1 with another verdict, 1 with other words")
    assert two.endswith("2 cells, 3 later cases: 1 with another verdict, 1 with other words")
    assert three.endswith("0 cells, 0 later cases: 0 with another verdict, 0 with other words")
    assert four.startswith("  the first 4 refused alike: 0 cells")


def test_a_refusal_told_without_compiling_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "is_compiled", lambda record, _: record.element_type != "f32")
    first, one, *_ = lines_of(replace(RUN, records=RECORDS))
    assert first == "9 cases, 7 refused, 4 of them by compiling"
    assert "1 cells, 3 later cases" in one


def test_results_were_compiled_and_the_backend_says_whether_refusals_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Backend:
        def refusal(self, program: object) -> None:
            del program

    monkeypatch.setattr(refusals, "cached_backend", lambda _: Backend())
    assert is_compiled(row("f32", WELL)[0], 0)
    assert is_compiled(row("f32", NO)[0], 0)
    monkeypatch.setattr(Backend, "refusal", lambda *_: ValueError("never"))
    assert not is_compiled(row("f32", NO)[0], 0)
    assert is_compiled(row("f32", WELL)[0], 0)
