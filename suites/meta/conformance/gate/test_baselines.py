"""Runs against baselines: kinds of changes, recordings, files, and exit codes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.errors import NOTHING_TESTED, UsageError
from conformance.gate.baselines.baseline import (
    ReadBaseline,
    apply_recordings,
    baseline_of,
    read_baseline,
)
from conformance.gate.baselines.comparison import (
    Comparison,
    Kind,
    compare,
    kind_of,
)
from conformance.gate.baselines.text_file import (
    Baseline,
    BaselineError,
    Case,
    CaseOutcome,
    baseline_text,
    write,
)
from conformance.gate.classes import NOT_DETERMINISTIC
from conformance.gate.conclusion import (
    backends_below,
    comparison_lines,
    exit_code,
    floor_lines,
    parse_share,
    scope_line,
    tally_words,
)
from conformance.results.lines import lines_of
from conformance.results.store import FILE_NAME
from conformance.results.summary import KnownReason, RunData
from conformance.verdict import Failing, Record, Verdict
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


def test_a_baseline_without_a_common_cell_is_refused() -> None:
    other = run_of(case(0, V.PASS, cell=OTHER), planned=(OTHER,))
    with pytest.raises(BaselineError, match=r"nothing can be compared with the baseline base\.txt"):
        compare_runs(run_of(case(0, V.PASS)), other)


def two_runs() -> tuple[RunData, RunData]:
    then = run_of(case(0, V.PASS), case(1, V.PASS), case(2, V.DIVERGENT, "x"))
    wrong, lost = case(0, V.DIVERGENT), case(1, V.UNSUPPORTED, message="<b>no|")
    return run_of(wrong, lost, case(2, V.PASS)), then


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


BITS, OTHER_BITS, ON_OTHER_INPUTS = "1111" + "a" * 12, "1111" + "b" * 12, "2222" + "b" * 12
PREDICTED = Failing(V.DIVERGENT, "a class", "", 1, known="x", predicted=1)
OPEN_VALUE = replace(PREDICTED, predicted=0, unpredicted=1)
SAME = {"known": "x", "wrong_digest": BITS}
OTHER_VALUES = {"known": "x", "wrong_digest": OTHER_BITS}
OF_MEMORY = {"known": "memory", "wrong_digest": "1111" + "c" * 12}


@pytest.mark.parametrize(
    ("before", "after", "on_same", "on_other"),
    [
        (SAME, SAME, "", ""),
        (SAME, {"kind": "NaN", "wrong_digest": BITS}, "", ""),
        (SAME, OTHER_VALUES, "changed", "changed in error"),
        (SAME, {**OTHER_VALUES, "failing": (OPEN_VALUE,)}, "changed", "changed"),
        ({"wrong_digest": BITS}, {"wrong_digest": OTHER_BITS}, "changed", "changed"),
        ({"verdict": V.PASS}, SAME, "changed", "changed in error"),
        ({"verdict": V.PASS}, {"wrong_digest": BITS}, "new", "new"),
        (SAME, {**SAME, "wrong_digest": ON_OTHER_INPUTS}, "", ""),
        ({"known": "x"}, SAME, "", ""),  # an older baseline
        (SAME, OF_MEMORY, "", ""),
        (OF_MEMORY, SAME, "", ""),
    ],
)
def test_other_wrong_values_than_recorded_are_a_change(
    before: dict, after: dict, on_same: str, on_other: str
) -> None:
    entries = {"x": KnownReason(), "memory": KnownReason(unpredictable=True)}
    then, now = (
        run_of(case(0, **{"verdict": V.DIVERGENT, **one}), expectations=entries)
        for one in (before, after)
    )
    now = replace(now, digests={"cpu": "1f"})
    for digest, kind in (("1f", on_same), ("2e", on_other)):
        found = compare_runs(now, replace(then, digests={"cpu": digest}))
        assert [change.kind.value for change in found.changes] == [kind] * bool(kind)
        assert found.is_failure == (kind in ("changed", "new"))


def test_recorded_failure_is_known_by_the_entry_that_the_baseline_names() -> None:
    stated = {"wrong_digest": BITS, "failing": (OPEN_VALUE,)}
    then = run_of(case(0, V.DIVERGENT, "x", **stated))
    unmatched = replace(OPEN_VALUE, known="", unpredicted=0)
    now = run_of(case(0, V.DIVERGENT, wrong_digest=BITS, failing=(unmatched,)))
    found = compare_runs(now, then)
    (known,) = apply_recordings(now, found.recorded, ["x"]).records
    assert (known.known, known.expectation_ids) == ("x", ("x",))
    assert apply_recordings(now, found.recorded, []).records == now.records
    assert (exit_code(now), exit_code(now, comparison=found)) == (1, 0)


def test_known_values_that_nothing_states_are_said_and_fail_a_strict_run() -> None:
    open_value = case(0, V.DIVERGENT, "x", wrong_digest=BITS, failing=(OPEN_VALUE,))
    run = run_of(open_value, stale=())
    assert (exit_code(run), exit_code(run, strict=True)) == (0, 1)
    told = "\n".join(lines_of(run, "show {}"))
    assert "1 known (of these 1 value not predicted), 0 new" in told
    assert "value not predicted: 1 known case, such as tanh-f32-cpu-0 (by x); --strict" in told
    page = html.html(run)
    assert page.index("1 known case, value not predicted") < page.index('class="facts"')
    found = compare_runs(run, run)
    recorded = apply_recordings(run, found.recorded, ["x"])
    assert exit_code(recorded, strict=True, comparison=found) == 0
    assert "not predicted" not in "\n".join(lines_of(recorded, "show {}"))


ADD = ("add", "f32", "plugin:mine")
SIGN_WRONG = CaseOutcome(Verdict.DIVERGENT, "sign")
IDS = ("add-sign", 'of "x"')

MADE = Baseline(
    "smoke", 7, "abc", {"jaxlib": "0.10"}, {"plugin:mine": {"library": "1f"}, "cpu": {}},
    {
        ADD: {
            0: Case("aaaa", CaseOutcome(Verdict.PASS)),
            2: Case("bbbb", CaseOutcome(Verdict.INACCURATE, 'a "quoted"\nclass', False, 3.5)),
            3: Case("cccc", CaseOutcome(Verdict.CRASHED, "abnormal exit", True)),
            4: Case("dddd", CaseOutcome(Verdict.UNSUPPORTED)),
            5: Case("eeee", CaseOutcome(Verdict.CRASHED, "not deterministic", True, flaky=True)),
            6: Case("ffff", replace(SIGN_WRONG, known=True, wrong_digest="ab" * 8, entries=IDS)),
            7: Case("0000", replace(SIGN_WRONG, wrong_digest="0123456789012345")),
        },
        ("Reshape (explicit)", "q<si8:f32:axis>", "cpu"): {
            0: Case("eeee", CaseOutcome(Verdict.PASS))
        },
    },
)  # fmt: skip


@pytest.mark.slow
def test_written_baseline_is_read_back(tmp_path: Path) -> None:
    write(MADE, tmp_path / "new" / "base.txt")
    assert read_baseline(tmp_path / "new" / "base.txt").baseline == MADE
    for name in synthetic.RUNS:
        run = synthetic.run(name)
        records = [
            replace(record, digest=f"{index:08x}") for index, record in enumerate(run.records)
        ]
        made = baseline_of(replace(run, records=records))
        write(made, tmp_path / "run.txt")
        assert read_baseline(tmp_path / "run.txt").baseline == made


def test_file_without_digests_of_wrong_elements_is_read(tmp_path: Path) -> None:
    path = tmp_path / "base.txt"
    older = re.sub(" (wrong|by) .*", "", baseline_text(MADE)).replace("format 3", "format 2")
    path.write_text(older)
    read = read_baseline(path).baseline.cells[ADD]
    assert read[6].outcome == replace(SIGN_WRONG, known=True)
    assert {case.outcome.wrong_digest for case in read.values()} == {""}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("format 3", "format 4"), "has format 4"),
        (lambda _: "", "is not a baseline"),
        (lambda _: "[[known]]\n", "is not a baseline"),
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: text.rpartition("total")[0], "its last line is missing"),
        (lambda text: text.replace("  4 unsupported\n", "").replace("dddd", ""), "cannot be"),
        (lambda text: text.replace("  4 unsupported", "  9 unsupported"), "line 14 cannot be"),
        (lambda text: text.replace("  4 unsupported", "  4 sleepy"), "cannot be: '4 sleepy'"),
        (lambda text: text.replace("seed 7", "<<<<<<< HEAD\nseed 7"), "is a merge conflict"),
        (lambda text: text + "cell\n", "cannot be: 'cell'"),
        (lambda text: text.replace('backend "cpu"', ""), "cannot be"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, change, said: str) -> None:
    path = tmp_path / "base.txt"
    path.write_text(change(baseline_text(MADE)))
    assert path.read_text() != baseline_text(MADE)
    with pytest.raises(BaselineError, match=said) as refused:
        read_baseline(path)
    told = str(refused.value)
    assert str(path) in told
    assert "\n" not in told
    assert "hlo-conformance baseline write RUN --out" in told


def test_missing_or_binary_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for path, said in (
        (tmp_path / "none.txt", "there is no baseline"),
        (tmp_path / "bytes", "is not a baseline"),
        (tmp_path, "there is no"),
        (tmp_path / FILE_NAME, "there is no"),
    ):
        with pytest.raises(BaselineError, match=said):
            read_baseline(path)


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


def test_different_versions_are_listed_once() -> None:
    run, then = two_runs()
    described = replace(run.backends[0], versions=(("jaxlib", "0.12"), ("library", "1f")))
    newer = replace(run, versions={"jaxlib": "0.12"}, backends=(described,))
    older = replace(described, versions=(("jaxlib", "0.10"), ("library", "2e")))
    then = replace(then, versions={"jaxlib": "0.10"}, backends=(older,))
    told = [what for what, _, _ in compare_runs(newer, then).differences]
    assert told == ["jaxlib", "backend: library"]
