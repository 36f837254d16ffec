"""Runs against baselines: kinds of changes, comparison of different runs, exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from conformance.errors import UsageError
from conformance.gate.baselines.baseline import ReadBaseline, baseline_of
from conformance.gate.baselines.comparison import (
    Comparison,
    Kind,
    compare,
    kind_of,
)
from conformance.gate.baselines.text_file import BaselineError, CaseOutcome
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.conclusion import (
    backends_below,
    closing_lines,
    comparison_lines,
    exit_code,
    floor_lines,
    parse_share,
    scope_line,
    tally_words,
)
from conformance.results.summary import KnownReason, RunData
from conformance.verdict import Record, Verdict
from reports import html, junit, markdown
from suites.meta.support import synthetic_run as synthetic

CELL = ("tanh", "f32", "cpu")
OTHER = ("tanh", "f16", "cpu")
V = Verdict


def case(index: int, verdict: Verdict, known: str = "", cell=CELL, **changes) -> Record:
    made = Record(*cell, index, f"{index:04x}0000", verdict, known=known if verdict.fails else "")
    return replace(made, **{"kind": "a class" if verdict.fails else "", **changes})


def run_of(*records: Record, planned=(CELL,), filtered=(), **changes) -> RunData:
    made = synthetic.run_of(list(records), {}, planned, filtered)
    made = replace(made, identity={"build of hlo-conformance": "one"})
    return replace(made, **changes)


def compare_runs(run: RunData, baseline: RunData) -> Comparison:
    return compare(run, ReadBaseline("base.txt", baseline_of(baseline)))


PASS, OPEN, UNSUPPORTED = (CaseOutcome(v) for v in (V.PASS, V.PASS, V.UNSUPPORTED))
WRONG, KNOWN = CaseOutcome(V.DIVERGENT, "sign"), CaseOutcome(V.DIVERGENT, "sign", known=True)
OFF, FURTHER = (CaseOutcome(V.INACCURATE, "accuracy", error=error) for error in (5.0, 64.0))
CRASH, KNOWN_CRASH = (
    CaseOutcome(V.CRASHED, "abnormal exit"),
    CaseOutcome(V.CRASHED, "abnormal exit", known=True),
)
FLAKY_CRASH = replace(KNOWN_CRASH, flaky=True)
VARYING_CRASH = CaseOutcome(V.CRASHED, NOT_DETERMINISTIC, known=True, flaky=True)
VARYING = CaseOutcome(V.DIVERGENT, NOT_DETERMINISTIC)
FLAKY_VALUE = replace(KNOWN, flaky=True)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (PASS, PASS, None),
        (PASS, WRONG, Kind.NEW),
        (KNOWN, WRONG, Kind.NEW),
        (UNSUPPORTED, WRONG, Kind.NEW),
        (None, WRONG, Kind.NEW),
        (WRONG, WRONG, None),
        (WRONG, replace(WRONG, kind="NaN"), Kind.NEW),
        (OFF, FURTHER, Kind.NEW),
        (OFF, replace(OFF, error=6.0), None),
        (KNOWN_CRASH, CRASH, Kind.NEW),
        (PASS, UNSUPPORTED, Kind.LOST),
        (KNOWN, UNSUPPORTED, Kind.LOST),
        (WRONG, UNSUPPORTED, Kind.LOST),
        (PASS, CRASH, Kind.LOST),
        (PASS, KNOWN_CRASH, Kind.LOST),
        (PASS, CaseOutcome(V.REJECTED), Kind.LOST),
        (PASS, CaseOutcome(V.TIMED_OUT), Kind.LOST),
        (PASS, None, Kind.LOST),
        (KNOWN_CRASH, None, Kind.LOST),
        (UNSUPPORTED, None, None),
        (UNSUPPORTED, UNSUPPORTED, None),
        (WRONG, PASS, Kind.FIXED),
        (KNOWN, PASS, Kind.FIXED),
        (CRASH, PASS, Kind.FIXED),
        (UNSUPPORTED, PASS, Kind.GAINED),
        (UNSUPPORTED, KNOWN, Kind.GAINED),
        (UNSUPPORTED, KNOWN_CRASH, Kind.CHANGED),
        (None, PASS, None),
        (FURTHER, OFF, Kind.CHANGED),
        (KNOWN, replace(KNOWN, kind="NaN"), Kind.CHANGED),
        (PASS, KNOWN, Kind.CHANGED),
        (KNOWN_CRASH, UNSUPPORTED, Kind.CHANGED),
        (WRONG, KNOWN, None),
    ],
)
def test_kinds_of_change_of_a_case(before, after, kind) -> None:
    assert kind_of(before, after) is kind


@pytest.mark.parametrize(
    ("before", "after", "on_other", "on_same"),
    [
        (PASS, VARYING_CRASH, None, None),
        (VARYING_CRASH, PASS, None, None),
        (FLAKY_CRASH, PASS, None, None),
        (FLAKY_CRASH, VARYING_CRASH, None, None),
        (FLAKY_CRASH, FLAKY_VALUE, None, None),
        (PASS, FLAKY_CRASH, Kind.LOST, None),
        (PASS, FLAKY_VALUE, Kind.NEW, None),
        (VARYING_CRASH, FLAKY_CRASH, Kind.NEW, None),  # it fails every time now
        (replace(VARYING, known=True, flaky=True), FLAKY_VALUE, Kind.NEW, None),
        (VARYING_CRASH, UNSUPPORTED, Kind.CHANGED, None),
        (FLAKY_VALUE, UNSUPPORTED, Kind.LOST, None),
        (UNSUPPORTED, FLAKY_VALUE, Kind.GAINED, Kind.GAINED),
        (PASS, VARYING, Kind.NEW, Kind.NEW),
    ],
)
def test_flaky_entry_excuses_what_varies_both_ways(before, after, on_other, on_same) -> None:
    assert kind_of(before, after) is on_other
    assert kind_of(before, after, is_same_backend=True) is on_same


@pytest.mark.parametrize(
    ("before", "after", "is_chance"),
    [
        ("", NOT_DETERMINISTIC, True),
        ("a class", NOT_DETERMINISTIC, True),
        ("a class", "", True),
        ("", "a class", False),
        (NOT_DETERMINISTIC, "a class", False),
    ],
)
def test_same_library_differs_by_chance(before: str, after: str, is_chance: bool) -> None:
    made = (
        run_of(
            case(0, V.DIVERGENT if kind else V.PASS, kind=kind),
            versions={"jaxlib": version},
            digests={"cpu": "1f"},
        )
        for kind, version in ((before, "1"), (after, "2"))
    )
    then, now = made
    found = compare_runs(now, then)
    assert (len(found.varying), len(found.changes)) == ((1, 0) if is_chance else (0, 1))
    told = "\n".join(comparison_lines(found, "{}"))
    said = "same library as the baseline: 1 case differs from run to run, such as tanh f32: "
    assert (said in told) == is_chance
    for other in (replace(now, digests={"cpu": "2e"}), replace(now, digests={})):
        assert not compare_runs(other, then).varying
    assert not compare_runs(replace(now, identity={}), then).varying  # of another hlo-conformance


def test_removed_flaky_entry_is_new_on_the_same_library() -> None:
    varying = case(0, V.DIVERGENT, "id", kind=NOT_DETERMINISTIC)
    then = run_of(varying, digests={"cpu": "1f"}, expectations={"id": KnownReason(flaky=True)})
    now = run_of(replace(varying, known=""), digests={"cpu": "1f"})
    assert changes_of(compare_runs(now, then)) == [("new", 0)]


def changes_of(comparison: Comparison) -> list[tuple[str, int | None]]:
    return [(change.kind.value, change.index) for change in comparison.changes]


def test_new_and_lost_cases_are_listed_first() -> None:
    then = run_of(
        case(0, V.PASS), case(1, V.DIVERGENT, "x"), case(2, V.UNSUPPORTED), case(3, V.PASS),
        case(4, V.UNSPECIFIED), case(5, V.PASS),
    )  # fmt: skip
    now = run_of(
        case(0, V.UNSUPPORTED, message="UNIMPLEMENTED: tanh"), case(1, V.PASS), case(2, V.PASS),
        case(3, V.DIVERGENT), case(4, V.PASS), case(5, V.FLUSHED, "y"),
    )  # fmt: skip
    found = compare_runs(now, then)
    assert changes_of(found) == [
        ("new", 3), ("lost", 0), ("fixed", 1), ("gained", 2), ("changed in error", 5),
    ]  # fmt: skip
    assert tally_words(found) == "0 changed, 1 new, 1 lost, 1 fixed, 1 gained, 1 changed in error"
    told = comparison_lines(found, "show {}")
    assert told[:2] == [f"against the baseline: {tally_words(found)}", scope_line(found)]
    assert "lost: tanh f32 on cpu, 1 case: pass → unsupported: UNIMPLEMENTED: tanh; show " in (
        "\n".join(told)
    )
    assert exit_code(now, comparison=found) == 1


def test_an_op_that_is_unimplemented_now_fails_the_run_though_nothing_diverges() -> None:
    then = run_of(case(0, V.DIVERGENT, "x"), case(1, V.FLUSHED))
    now = run_of(case(0, V.UNSUPPORTED), case(1, V.UNSUPPORTED))
    assert changes_of(compare_runs(now, then)) == [("lost", 0), ("lost", 1)]
    assert exit_code(now, comparison=compare_runs(now, then)) == 1
    assert exit_code(now) == 4


def test_failures_of_the_baseline_are_listed_and_fail_a_strict_run() -> None:
    run = run_of(case(0, V.DIVERGENT), case(1, V.PASS))
    found = compare_runs(run, run)
    assert (found.changes, found.unexplained) == ((), 1)
    assert any(
        "1 new case fails as in the baseline" in line for line in comparison_lines(found, "{}")
    )
    assert exit_code(run) == 1
    assert exit_code(run, comparison=found) == 0
    assert exit_code(run, comparison=found, strict=True) == 1
    page = html.html(run, "", found)
    assert "does not conform: 1 case fails, new, in 1 of 1 cells tested." in page
    assert "Nothing is new or lost since the baseline." in page


def test_a_case_that_was_not_run_is_lost_where_the_plan_is_the_same() -> None:
    then = run_of(case(0, V.PASS), case(1, V.PASS))
    assert changes_of(compare_runs(run_of(case(0, V.PASS)), then)) == [("lost", 1)]
    for other in ({"profile": "deep"}, {"identity": {}}):
        found = compare_runs(run_of(case(0, V.PASS), **other), then)
        assert (found.changes, found.same, found.unmatched) == ((), 1, 1)


def test_a_cell_that_was_not_run_is_lost_with_any_plan() -> None:
    then = run_of(case(0, V.PASS), case(0, V.PASS, cell=OTHER), planned=(CELL, OTHER))
    for other in ({}, {"seed": 99}, {"profile": "deep"}):
        now = run_of(case(0, V.PASS), planned=(CELL, OTHER), **other)
        (lost,) = compare_runs(now, then).of(Kind.LOST)
        assert (lost.key, lost.after) == (OTHER, None)


def test_cells_that_were_not_planned_are_not_compared() -> None:
    then = run_of(case(0, V.PASS), case(0, V.PASS, cell=OTHER), planned=(CELL, OTHER))
    found = compare_runs(run_of(case(0, V.PASS), filtered=(OTHER,)), then)
    assert (found.changes, found.same, found.unmatched) == ((), 1, 1)
    assert "not compared: 1 cases of the baseline that this run lacks" in scope_line(found)


def test_cases_of_another_seed_are_compared_by_cell() -> None:
    then = run_of(case(0, V.PASS), case(1, V.PASS), seed=1)
    unsupported = run_of(case(0, V.UNSUPPORTED), case(1, V.UNSUPPORTED), seed=2)
    assert changes_of(compare_runs(unsupported, then)) == [("lost", None)]
    assert changes_of(compare_runs(then, unsupported)) == [("gained", None)]
    failing = run_of(case(0, V.DIVERGENT), case(1, V.PASS), seed=3)
    assert changes_of(compare_runs(failing, then)) == [("new", 0)]
    assert changes_of(compare_runs(then, failing)) == []  # its cases are others: it may fail yet
    assert (
        changes_of(compare_runs(run_of(case(0, V.PASS), case(1, V.DIVERGENT), seed=4), failing))
        == []
    )
    said = scope_line(compare_runs(failing, then))
    assert "0 cases one by one and 1 whole cells, because their cases differ" in said
    assert "seed 1 → 3" in said


def test_different_program_at_same_index_is_different_case() -> None:
    then = run_of(case(0, V.PASS), case(1, V.DIVERGENT, "x"), identity={})
    now = run_of(case(0, V.PASS), case(1, V.PASS, digest="ffff0000"))
    found = compare_runs(now, then)
    assert (found.changes, found.same, found.unmatched, found.added) == ((), 1, 1, 1)


def renamed_to(backend: str, run: RunData) -> RunData:
    cell = (*CELL[:2], backend)
    described = replace(run.backends[0], name=backend)
    records = [replace(record, backend=backend) for record in run.records]
    return replace(run, records=records, planned=(cell,), backends=(described,))


def test_single_backends_of_different_names_are_compared() -> None:
    then, now = run_of(case(0, V.PASS)), run_of(case(0, V.UNSUPPORTED))
    found = compare_runs(renamed_to("plugin:new", now), then)
    assert changes_of(found) == [("lost", 0)]
    assert "backends cpu → plugin:new" in scope_line(found)


def test_a_baseline_without_a_common_cell_is_refused() -> None:
    other = run_of(case(0, V.PASS, cell=OTHER), planned=(OTHER,))
    with pytest.raises(BaselineError, match=r"nothing can be compared with the baseline base\.txt"):
        compare_runs(run_of(case(0, V.PASS)), other)


def test_the_floor_is_of_each_backend() -> None:
    cpu, gpu = (("tanh", of, b) for of, b in (("f64", "cpu"), ("f64", "gpu")))
    run = run_of(
        case(0, V.PASS), case(0, V.PASS, cell=cpu), case(0, V.UNSUPPORTED, cell=gpu),
        planned=(CELL, cpu, gpu),
    )  # fmt: skip
    assert [share.backend for share in backends_below(run, 0.5)] == ["gpu"]
    assert backends_below(run, 0.0) == []
    (line,) = floor_lines(run, 0.95)
    assert "0 of 1 planned cells tested on gpu (0.0 %), --at-least asks for 95 %" in line
    assert closing_lines(run, None, 0.95, "") == [line]
    assert (exit_code(run), exit_code(run, at_least=0.95), exit_code(run, at_least=0.0)) == (
        0, 1, 0,
    )  # fmt: skip


def test_a_share_is_a_percentage_or_a_part() -> None:
    assert parse_share("95%") == parse_share("0.95") == 0.95
    for senseless in ("95", "101%", "-1%", "much", "nan", "%"):
        with pytest.raises(UsageError, match="--at-least takes a share such as 95%"):
            parse_share(senseless)


def two_runs() -> tuple[RunData, RunData]:
    then = run_of(case(0, V.PASS), case(1, V.PASS), case(2, V.DIVERGENT, "x"))
    wrong, lost = case(0, V.DIVERGENT), case(1, V.UNSUPPORTED, message="<b>no|")
    return run_of(wrong, lost, case(2, V.PASS)), then


def test_the_page_counts_in_links_on_its_first_screen() -> None:
    run, then = two_runs()
    page = html.html(run, "", compare_runs(run, then))
    found = re.findall(r'<a href="#change=(\w+)" aria-label="[^"]*">(\d+)</a>', page)
    assert found == [("new", "1"), ("lost", "1"), ("fixed", "1")]  # no link to nothing
    assert page.index('href="#change=new"') < page.index('class="facts"')
    assert "Since the baseline: 1 new, 1 lost on cpu." in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    kinds = {kind["name"]: kind["groups"] for kind in data["changes"]["kinds"]}
    assert {name: len(groups) for name, groups in kinds.items()} == {
        "new": 1,
        "lost": 1,
        "fixed": 1,
    }
    assert kinds["lost"][0][-1] == "<b>no|"
    assert "#change=" not in html.html(run)


def test_hostile_text_in_a_comparison_is_inert() -> None:
    nasty = synthetic.run("nasty")
    records = [replace(r, verdict=V.PASS, kind="", known="") for r in nasty.records]
    was_right = replace(nasty, records=records)
    for found, run in (
        (compare_runs(nasty, was_right), nasty),
        (compare_runs(was_right, nasty), was_right),
    ):
        assert found.changes
        page = html.html(run, "", found)
        assert page.count("</script>") == 2
        assert "<img" not in page
        assert not any(c < " " and c not in "\n\t" for c in page)
        written = markdown.markdown(run, found)
        assert not re.search(r"<(?!/?code>)[a-z!/]", re.sub(r"`[^`\n]*`", "", written))


def test_markdown_has_a_table_for_each_kind_of_change() -> None:
    run, then = two_runs()
    written = markdown.markdown(run, compare_runs(run, then))
    assert "**0 changed, 1 new, 1 lost, 1 fixed, 0 gained, 0 changed in error.**" in written
    assert "### Lost" in written
    assert "| tanh | f32 | cpu | pass | unsupported | &lt;b&gt;no\\| | 1 case |" in written
    assert "Against the baseline" not in markdown.markdown(run)


def test_junit_fails_new_and_lost_cases_and_skips_the_others() -> None:
    run, then = two_runs()
    (cell,) = [one for suite in junit.document(run, "", compare_runs(run, then)) for one in suite]
    assert [(result.type, result.message) for result in cell.result] == [
        ("new", "2 cases: new: pass in the baseline, divergent (a class): "),
    ]
    assert "lost: pass in the baseline, unsupported: <b>no|" in cell.result[0].text
    (cell,) = [one for suite in junit.document(run, "", compare_runs(run, run)) for one in suite]
    (skipped,) = cell.result
    assert skipped.message == "new, and fails as in the baseline"


def test_different_versions_are_listed_once() -> None:
    run, then = two_runs()
    described = replace(run.backends[0], versions=(("jaxlib", "0.12"), ("library", "1f")))
    newer = replace(run, versions={"jaxlib": "0.12"}, backends=(described,))
    older = replace(described, versions=(("jaxlib", "0.10"), ("library", "2e")))
    then = replace(then, versions={"jaxlib": "0.10"}, backends=(older,))
    told = [what for what, _, _ in compare_runs(newer, then).differences]
    assert told == ["jaxlib", "backend: library"]


def test_versions_of_several_backends_are_compared_per_backend() -> None:
    run, then = two_runs()
    mine, other, added = (
        replace(run.backends[0], name=name, versions=(("library", version),))
        for name, version in (("cpu", "1f"), ("gpu", "2e"), ("tpu", "3d"))
    )
    older = replace(then, backends=(replace(other, versions=(("library", "0a"),)), mine))
    found = compare_runs(replace(run, backends=(mine, other, added)), older).differences
    assert found == (("backends", "cpu, gpu", "cpu, gpu, tpu"), ("gpu: library", "0a", "2e"))
