"""Groups of failures with the same cause, their entries, and the search for a counterexample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from conformance.backends.registry import parse
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.local import Call, WorkerCrash
from conformance.fuzzing.calls import TimedResult
from conformance.fuzzing.trial import FailingProgram
from conformance.gate.expectations import Counterexample, Expectation, matching_entry
from conformance.gate.remarks import shadowed_entries
from conformance.pipeline.outcome import Outcome
from conformance.updating import smallest
from conformance.updating.groups import (
    FailureGroup,
    NewFailure,
    entry_of,
    generalise_message,
    group_failures,
    group_varying,
)
from conformance.updating.smallest import (
    AS_COUNTEREXAMPLE,
    MINIMISE_RECORDED,
    RECORDED_FAILURE,
    UNMINIMISED_COUNTEREXAMPLE,
    Search,
    counterexample,
)
from conformance.verdict import Detail, Failing, Record, Verdict
from suites.meta.support.small_programs import array, op_program, tensor_of
from suites.meta.support.workers import Workers


def a_record(
    index: int, of: str, verdict: Verdict, kind: str, message: str = "", ulp: float | None = None
) -> Record:
    detail = Detail('"stablehlo.sort"(%0) : (tensor<3xf32>) -> tensor<3xf32>', b"", 1, 1)
    return Record(
        "sort", of, "plugin:mine", index, "", verdict, kind, message, worst_ulp=ulp, detail=detail
    )


def test_failures_are_grouped_by_verdict_class_and_the_backends_words() -> None:
    ended, exited = "the process ended with SIGABRT: ", "abnormal exit"
    crashed, divergent = Verdict.CRASHED, Verdict.DIVERGENT
    records = [
        a_record(0, "f32", crashed, exited, f"{ended}a.cc:12] Check failed: size > 0 (3 vs. 0)"),
        a_record(1, "bf16", crashed, exited, f"{ended}a.cc:19] Check failed: size > 0 (7 vs. 0)"),
        a_record(2, "f32", crashed, exited, f"{ended}b.cc:1] Check failed: rank"),
        a_record(3, "f32", divergent, "NaN"),
        a_record(4, "f32", Verdict.PASS, ""),
    ]
    groups = group_failures(records)
    assert [group.element_types for group in groups] == [("f32", "bf16"), ("f32",), ("f32",)]
    entries: list[Expectation] = []
    for group in groups:
        entries.append(entry_of(group, records, {entry.id for entry in entries}))
    assert entries[0].words == ("a.cc:*] Check failed: size > * (* vs. *)",)
    assert [one.id for one in entries] == [
        "sort-crashed-sigabrt", "sort-crashed-sigabrt-2", "sort-nan"
    ]  # fmt: skip
    assert [matching_entry(entries, record) for record in records] == [
        "sort-crashed-sigabrt", "sort-crashed-sigabrt", "sort-crashed-sigabrt-2", "sort-nan", ""
    ]  # fmt: skip
    assert [one.rare for one in entries] == [True, True, False]  # of five cases
    assert not entry_of(groups[0], records[:3], ()).rare


def test_a_cause_is_one_entry_over_ops_types_and_classes() -> None:
    flushed, divergent, crashed = Verdict.FLUSHED, Verdict.DIVERGENT, Verdict.CRASHED
    unlike = "INTERNAL: no layout: %copy.3 = f32[3] copy(%x)", "INTERNAL: no layout: %y = s8[] y()"
    failures = [
        ("abs", "f32", flushed, "flushed", ""),
        ("tanh", "bf16", flushed, "flushed", ""),
        ("abs", "si2", divergent, "flushed", ""),
        ("sort", "ui2", divergent, "flushed", ""),
        ("abs", "f64", crashed, "internal error", unlike[0]),
        ("sort", "si8", crashed, "internal error", unlike[1]),
        ("abs", "f16", divergent, "wrong value", ""),
        ("tanh", "f16", divergent, "wrong value", ""),
        ("abs", "f16", crashed, "abnormal exit", "the process ended with SIGSEGV"),
        ("tanh", "f16", crashed, "abnormal exit", "the process ended with SIGSEGV"),
    ]
    records = [replace(a_record(0, *rest), op=op) for op, *rest in failures]
    entries: list[Expectation] = []
    for group in group_failures(records):
        entries.append(entry_of(group, records, {entry.id for entry in entries}))
    assert [(entry.id, entry.op, entry.element_types) for entry in entries] == [
        ("flushed", ("abs", "tanh"), ("f32", "bf16")),
        ("flushed-2", ("abs", "sort"), ("si2", "ui2")),
        ("crashed-internal-error", ("abs", "sort"), ("f64", "si8")),
        ("abs-wrong-value", ("abs",), ("f16",)),
        ("tanh-wrong-value", ("tanh",), ("f16",)),
        ("abs-crashed-sigsegv", ("abs",), ("f16",)),
        ("tanh-crashed-sigsegv", ("tanh",), ("f16",)),
    ]
    assert entries[0].kinds == ("flushed",)
    assert entries[2].words == ("INTERNAL: no layout: *",)
    assert all(matching_entry(entries, record) for record in records)
    assert not [*shadowed_entries(entries)]


def test_what_runs_do_not_share_is_one_flaky_entry_of_its_op() -> None:
    divergent, crashed = Verdict.DIVERGENT, Verdict.CRASHED
    passing = a_record(0, "f32", Verdict.PASS, "")
    ends = [
        a_record(0, "f32", divergent, "wrong value"),
        a_record(1, "f16", divergent, "NaN"),
        a_record(2, "f16", crashed, "internal error", "INTERNAL: no luck at 0x12"),
        a_record(3, "f64", divergent, "sign"),
    ]
    first = [passing, ends[1], replace(passing, element_type="f16", index=2), ends[3]]
    changed = replace(ends[1], kind="infinity")
    second = [ends[0], changed, ends[2], ends[3]]
    assert group_varying([first]) == []
    values, crash = group_varying([first, second])
    entry = entry_of(values, first, ())
    assert (entry.id, entry.flaky, entry.op) == ("sort-flaky", True, ("sort",))
    assert entry.element_types == ("f32", "f16")
    assert entry.kinds == ("not deterministic", "wrong value", "NaN", "infinity")
    assert all(map(entry.matches, (ends[0], ends[1], changed)))
    assert not entry.matches(ends[3])  # it fails so in each run
    other = entry_of(crash, first, {entry.id})
    assert (other.id, other.words) == ("sort-flaky-2", ("INTERNAL: no luck at *",))
    assert other.matches(ends[2])
    known = [replace(record, known="x") for record in second]
    assert group_varying([first[2:3], known[2:3]]) == []


def test_program_that_corrupts_memory_is_matched_by_any_crash() -> None:
    """An overwritten heap ends a process with one of many messages of the allocator, or none."""
    aborted, ended = "the process ended with SIGABRT", "the process ended with SIGSEGV"
    ends = [
        ("abnormal exit", f"{aborted}: free(): invalid next size (fast)"),
        ("abnormal exit", f"{aborted}: Fatal glibc error: malloc assertion failure in sysmalloc"),
        ("abnormal exit", aborted),
        ("abnormal exit", ended),
    ]
    records = [a_record(n, "si2", Verdict.CRASHED, *end) for n, end in enumerate(ends)]
    words = a_record(
        9, "si2", Verdict.CRASHED, "abnormal exit", f"{aborted}: a.cc:1] Check failed: rank"
    )
    heap, other = group_failures([*records, words])
    entry = entry_of(heap, records, ())
    assert entry.id == "sort-crashed-overwritten-memory"
    assert entry.where == ('"stablehlo.sort"',)
    for first in records:  # whichever was met when the entry was written
        (group,) = group_failures([records[0], first])
        assert all(map(entry_of(group, [], ()).matches, records))
    assert not entry.matches(words)
    assert other.cases == [words.id]
    (either,) = group_failures(records[2:])  # silent, but by either signal
    assert all(map(entry_of(either, [], ()).matches, records))
    (silent,) = group_failures([records[3]])
    assert entry_of(silent, [], ()).words == ("SIGSEGV",)
    assert [record for record in records if entry_of(silent, [], ()).matches(record)] == [
        records[3]
    ]


def test_only_unmatched_failures_of_a_record_are_new() -> None:
    failing = (
        Failing(Verdict.DIVERGENT, "NaN", "", 3, known="x"),
        Failing(Verdict.INACCURATE, "accuracy", "", 2, worst_ulp=12.3),
    )
    record = replace(a_record(0, "f32", Verdict.INACCURATE, "accuracy"), failing=failing)
    (group,) = group_failures([record])
    assert (group.verdict, group.kind) == (Verdict.INACCURATE, "accuracy")
    entry = entry_of(group, [record], ())
    assert entry.max_ulp == 13
    assert not entry.matches(replace(record, worst_ulp=64.0))
    assert not entry.unpredictable


def test_entry_of_twin_matches_xlabuilder_op() -> None:
    known = a_record(0, "f32", Verdict.DIVERGENT, "NaN")
    records = [known, replace(known, op="Sort"), replace(known, op="ScaledDot")]
    assert [one.ops for one in group_failures(records)] == [("sort",), ("ScaledDot",)]
    entry = entry_of(group_failures(records)[0], records, ())
    assert [entry.matches(record) for record in records] == [True, True, False]
    accepted = replace(known, op="Sort", verdict=Verdict.ACCEPTED, kind="P1")
    assert [one.ops for one in group_failures([accepted])] == [("Sort",)]


def test_a_class_that_predicts_values_is_one_entry_however_far_these_are() -> None:
    near, far = Verdict.INACCURATE, Verdict.DIVERGENT
    records = [
        a_record(0, "f32", near, "double rounding", ulp=2.0),
        a_record(1, "f16", far, "double rounding"),
        a_record(2, "f32", near, "accuracy", ulp=2.0),
        a_record(3, "f32", far, "wrong value"),
    ]
    groups = group_failures(records)
    assert [group.verdicts for group in groups] == [
        ("inaccurate", "divergent"), ("inaccurate",), ("divergent",)
    ]  # fmt: skip
    first = entry_of(groups[0], records, ())
    assert first.verdicts == ("inaccurate", "divergent")
    assert (first.max_ulp, entry_of(groups[1], records, ()).max_ulp) == (float("inf"), 2)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", ""),
        ("INTERNAL: no tensor<3x4xcomplex<f32>> at 0x7ffc12", "INTERNAL: no * at *"),
        ("no (f32[2,3]{1,0}, pred[]) of s4[]", "no (*, *) of *"),
        ("\n  12\n second  line 3\n", "second  line *"),
        ("a " * 100, ("a " * 80).strip()),
    ],
)
def test_words_are_common_to_all_similar_failures(said: str, words: str) -> None:
    assert generalise_message(said) == words


ENTRY = Expectation("mine", ("tanh",), "Wrong.", verdicts=("divergent", "crashed"), where=("tanh",))
SMALL, WHOLE = Counterexample("small"), Counterexample("whole")
D, C = Verdict.DIVERGENT, Verdict.CRASHED
TANH = op_program("tanh", [tensor_of(2)], tensor_of(2))


def failure(lines: int, verdict: Verdict = D, kind: str = "wrong value") -> NewFailure:
    """Return a failure whose program has this many lines."""
    detail = Detail("line\n" * lines, b"", 0, 0)
    record = Record("tanh", "f32", "cpu", lines, "0", verdict, kind, detail=detail)
    return NewFailure(record, Failing(verdict, kind, "", 1, inputs=b"archive"))


Shown = Callable[[Counterexample], bool]


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Workers]]:
    """Search for a counterexample of `ENTRY`; `shows` says which programs it matches."""

    def make(answer: Callable[[Call], Any], shows: Shown, *failures: NewFailure) -> Any:
        def replay(_: object, entries: list[Expectation], backend: str) -> Any:
            ((one,), _) = entries, backend
            assert (one.id, backend) == ("mine", "cpu:AVX2")
            assert one.counterexample is not None
            yield None
            yield ReplayedCounterexample(D, id=one.id, reproduces=shows(one.counterexample))

        monkeypatch.setattr(smallest, "replay_counterexamples", replay)
        executor = Workers(answer)
        other = Expectation("other", ("*",), "Other.")
        given = Search(executor, parse("cpu:AVX2"), (other, ENTRY), 5.0)
        return counterexample(given, FailureGroup("cpu", "", list(failures)), ENTRY), executor

    return make


def functions(executor: Workers) -> list[Any]:
    return [call.function for call in executor.made]


def test_a_program_that_the_entry_does_not_match_is_not_accepted(search: Any) -> None:
    """Of the four programs three are tried, each minimised and as it is."""

    def answer(call: Call) -> Counterexample:
        return SMALL if call.function is MINIMISE_RECORDED else WHOLE

    failures = [failure(lines) for lines in (4, 1, 3, 2)]
    found, executor = search(answer, lambda _: False, *failures)
    assert found is None
    assert functions(executor) == [MINIMISE_RECORDED, UNMINIMISED_COUNTEREXAMPLE] * 3
    lines = [call.arguments[-1 if len(call.arguments) == 1 else 0] for call in executor.made[1::2]]
    assert [text.count("\n") for text in lines] == [1, 2, 3]
    found, executor = search(answer, lambda one: one is WHOLE, *failures)
    assert found is WHOLE
    assert functions(executor) == [MINIMISE_RECORDED, UNMINIMISED_COUNTEREXAMPLE]


@pytest.mark.parametrize("again", [True, False])
def test_a_crash_is_minimised_in_workers_of_its_own(search: Any, again: bool) -> None:
    """Each attempt may cost a worker; a crash that does not repeat is not minimised."""

    def answer(call: Call) -> Any:
        if call.function is RECORDED_FAILURE:
            assert call.arguments[1] == Outcome(C, "abnormal exit", "")
            return FailingProgram(0, TANH, (array([1.0, 2.0]),), call.arguments[1])
        if call.function is AS_COUNTEREXAMPLE:
            assert call.arguments[0].subject.name == "tanh"
            return SMALL
        if call.function is UNMINIMISED_COUNTEREXAMPLE:
            return WHOLE
        return WorkerCrash("SIGABRT") if again else TimedResult(None, 0.1)

    found, executor = search(answer, lambda _: True, failure(1, C, "abnormal exit"))
    assert found is (SMALL if again else WHOLE)
    called = functions(executor)
    assert called[0] is RECORDED_FAILURE
    assert called[-1] is (AS_COUNTEREXAMPLE if again else UNMINIMISED_COUNTEREXAMPLE)
    assert len(called) > 3 if again else len(called) == 3
    (trial,) = {call.arguments[1] for call in executor.made[1:2]}
    assert trial.expectations == (ENTRY,)
