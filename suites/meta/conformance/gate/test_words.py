"""Programs without results are matched by the backend's message, or by the crashing operation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.backends.base import ANSWERED
from conformance.checking.counterexample import match_crash, replay
from conformance.checking.counterexamples import replay_counterexamples
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.local import CallEnd, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, own_words
from conformance.frontends.modules import Unit, units_of
from conformance.gate.expectations import (
    WITHOUT_RESULTS,
    Counterexample,
    Expectation,
    Failure,
    matching_entry,
)
from conformance.gate.files import SHIPPED
from conformance.gate.reading import ExpectationError, load, read
from conformance.known import crashing_operations
from conformance.results.versions import versions
from conformance.stablehlo.emit import emit
from conformance.verdict import Detail, Record, Verdict
from reference.ir.program import Program

ENTRIES = [
    entry
    for file in sorted(SHIPPED.iterdir())
    for entry in read(file)
    if not {*entry.verdicts}.isdisjoint(WITHOUT_RESULTS)
]
"""The shipped entries that know programs without results."""

ANYTHING = ("*",)
"""Words that every message has distinguish nothing."""

TEXT = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) {dimension = -1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = "stablehlo.sort"(%y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<2x3xf32>
}
"""


def program() -> Program:
    (unit,) = units_of(TEXT)
    assert isinstance(unit, Unit)
    return unit.flat.program


def crash(message: str, kind: str = "abnormal exit") -> Failure:
    return Failure("sort", "f32", "cpu", Verdict.CRASHED, kind, message)


def entry(**given: Any) -> Expectation:
    return Expectation("x", ("sort",), "it ends", verdicts=("crashed",), **given)


def test_words_distinguish_crashes() -> None:
    known = entry(words=("bad_alloc", "a.cc:*] Check failed: n > 0"))
    head = "the process ended with SIGABRT"
    said = {
        f"{head}: what(): std::bad_alloc": "x",
        f"{head}: a.cc:12] Check failed: n > 0 (0 vs. 0)": "x",
        f"{head}: b.cc:12] Check failed: n > 0": "",
        f"{head}: a.cc:12] Check failed: n > 1": "",
        head: "",
    }
    assert {text: matching_entry((known,), crash(text)) for text in said} == said


def test_words_are_the_backends_own() -> None:
    died, timed_out = WorkerCrash("SIGABRT", "what(): bad"), WorkerTimeout(20.0)
    assert own_words(crash_verdict(died)[2]) == "what(): bad"
    for lost in (replace(died, last_words=""), WorkerCrash("exit code 3"), timed_out):
        assert own_words(crash_verdict(lost)[2]) == ""
    (verdict, kind, message), known = crash_verdict(died), entry(words=("SIGABRT", "the process"))
    failure = replace(crash(message, kind), verdict=verdict)
    assert matching_entry((known,), failure) == ""
    assert matching_entry((entry(words=ANYTHING),), failure) == "x"


def test_a_silent_crash_is_matched_by_the_operation() -> None:
    first, second = (one for one in program().walk() if one.name == "sort")
    known = entry(where=('sort"*dimension = -* tensor<2x3xf32>',))
    silent = crash("the process ended with SIGSEGV")
    assert matching_entry((known,), replace(silent, operation=first)) == "x"
    assert matching_entry((known,), replace(silent, operation=second)) == ""
    assert matching_entry((known,), silent) == ""
    assert matching_entry((entry(words=("oom",)),), replace(silent, operation=first)) == ""


def test_a_signal_is_the_words_of_a_silent_crash_of_an_operation() -> None:
    operation = program().subject
    known = entry(where=(operation.name,), words=("SIGFPE", "oom"))
    said = {"SIGFPE": "x", "SIGSEGV": "", "SIGSEGV: oom": "x", "SIGFPE: b.cc:1] Check failed": ""}
    given = {end: crash(f"the process ended with {end}") for end in said}
    assert {
        end: known.matches(replace(one, operation=operation)) for end, one in given.items()
    } == {end: bool(id_) for end, id_ in said.items()}
    assert not entry(words=known.words).matches(given["SIGFPE"])


def test_a_regular_expression_distinguishes_types() -> None:
    first, second = (one for one in program().walk() if one.name == "sort")
    silent = crash("the process ended with SIGSEGV")
    known = entry(where=(r"/\(tensor<(\d)x3xf32>\) -> tensor<\1x3xf32>$/",))
    assert matching_entry((known,), replace(silent, operation=first)) == "x"
    other = entry(where=(r"/\(tensor<(\d)x3xf32>\) -> tensor<(?!\1)/",))
    assert matching_entry((other,), replace(silent, operation=first)) == ""
    assert matching_entry((entry(where=("/tensor/",)),), replace(silent, operation=second)) == "x"


def test_a_condition_is_a_name_that_exists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def is_of_two(operation: crashing_operations.OperationText) -> bool:
        return operation.shapes()[0] == [2, 3]

    monkeypatch.setitem(crashing_operations.CONDITIONS, "of two", is_of_two)
    first, second = (one for one in program().walk() if one.name == "sort")
    silent = crash("the process ended with SIGSEGV")
    known = entry(where=("condition: of two",))
    assert matching_entry((known,), replace(silent, operation=first)) == "x"
    assert matching_entry((known,), replace(silent, operation=second)) == ""
    text = '[[known]]\nid = "x"\nop = "sort"\nreason = "r"\nverdicts = ["crashed"]\n'
    text += 'where = ["{}"]\n'
    path = tmp_path / "own.toml"
    path.write_text(text.format("condition: of two"))
    assert [one.where for one in load([str(path)], ("cpu",), versions())] == [known.where]
    path.write_text(text.format("condition: of tow"))
    with pytest.raises(ExpectationError, match="unknown condition 'of tow'; did you mean of two"):
        load([str(path)], ("cpu",), versions())


def test_a_crash_with_words_must_match_words_and_where() -> None:
    first, second = (one for one in program().walk() if one.name == "sort")
    known = entry(where=("dimension = -",), words=("oom",))
    said = crash("the process ended with SIGABRT: oom")
    assert matching_entry((known,), replace(said, operation=first)) == "x"
    assert matching_entry((known,), replace(said, operation=second)) == ""
    other = crash("the process ended with SIGABRT: Check failed")
    assert matching_entry((known,), replace(other, operation=first)) == ""


def test_a_record_is_matched_by_the_operations_of_its_program() -> None:
    detail = Detail(emit(program()), b"", 0, 0)
    silent = Record("sort", "f32", "cpu", 0, "", Verdict.CRASHED, "abnormal exit",
                    "the process ended with SIGSEGV", detail=detail)  # fmt: skip
    for where, known in (
        ("sort*dimension = -1", "x"), ("sort*dimension = 1", ""),
        ("dimension = -1*dimension = 0", ""),
    ):  # fmt: skip
        assert matching_entry((entry(where=(where,)),), silent) == known
    assert matching_entry((entry(where=("sort",)),), replace(silent, detail=None)) == ""


def test_a_counterexample_without_words_reproduces_by_its_operations() -> None:
    shown = Counterexample(TEXT, ("1.0", "1.0"))
    for where, known in (("dimension = -1", True), ("dimension = 2", False)):
        end = Verdict.CRASHED, "abnormal exit", "the process ended with SIGSEGV"
        given = entry(where=(where,), counterexample=shown)
        (seen,) = match_crash(given, "reference:right", *end)
        assert seen.reproduces is known


class _Seldom:
    """Workers; the second worker reproduces a counterexample."""

    def __init__(self) -> None:
        self.workers = 1

    def results(self, calls: Any) -> Any:
        for call in calls:
            (one,) = call.name
            yield CallEnd(
                call,
                (ReplayedCounterexample(Verdict.CRASHED, id=one.id, reproduces=self.workers > 1),),
            )

    def end_workers(self) -> None:
        self.workers += 1


@pytest.mark.parametrize(("given", "workers"), [({"where": ("sort",)}, 2), ({"words": ("x",)}, 1)])
def test_silent_crash_is_replayed_in_several_workers(given: Any, workers: int) -> None:
    known, executor = entry(counterexample=Counterexample(TEXT), **given), _Seldom()
    (seen,) = replay_counterexamples(executor, [known], "reference:right")  # type: ignore[arg-type]
    assert seen is not None
    assert (seen.reproduces, executor.workers) == (workers > 1, workers)


def test_a_counterexample_that_the_verifier_refuses_reproduces_by_its_words() -> None:
    refused = TEXT.replace("dimension = -1", "dimension = 7")
    for words, known in (("dimension", True), ("rank of the moon", False)):
        given = Expectation("x", ("sort",), "refused", verdicts=("rejected",), words=(words,),
                            counterexample=Counterexample(refused, ()))  # fmt: skip
        assert replay(given, "reference:right").reproduces is known


def test_shipped_crash_entries_have_words_or_where() -> None:
    assert len(ENTRIES) > 60
    assert [one.id for one in ENTRIES if not (one.words or one.where)] == []
    assert [one.id for one in ENTRIES if ANYTHING[0] in one.words + one.where] == []


OTHER_WORDS = (
    "the process ended with SIGABRT: other.cc:7] Check failed: something else",
    "INTERNAL: RET_CHECK failure (other.cc:7) something else",
    "INVALID_ARGUMENT: during context [hlo verifier]: something else",
    "the process ended with SIGABRT",
    "the process ended with SIGSEGV",
    "no answer within 20 s: compilation 20.0 s",
)


@pytest.mark.parametrize("known", ENTRIES, ids=lambda one: one.id)
@pytest.mark.parametrize("message", OTHER_WORDS)
def test_the_same_end_with_other_words_is_new(known: Expectation, message: str) -> None:
    assert not any(
        known.matches_except_op(Verdict(verdict), kind, message)
        for verdict in known.verdicts
        for kind in (*known.kinds, *ANSWERED)
        if own_words(message) or not known.where
    )


ENDS_WHEN_READ = ("reduce-of-nothing", "chlo-negative-broadcast-dimension")
"""MLIR's verifier crashes the process here."""


@pytest.mark.parametrize(
    "known",
    [
        one
        for one in load(None, ("cpu", "interpreter"), versions())
        if one.where
        and one.id not in ENDS_WHEN_READ
        and not {*one.verdicts}.isdisjoint(WITHOUT_RESULTS)
    ],
    ids=lambda one: one.id,
)
def test_where_matches_the_counterexample_and_no_other_program(known: Expectation) -> None:
    assert known.counterexample is not None
    (unit,) = units_of(known.counterexample.program)
    assert isinstance(unit, Unit)
    signal = next((one for one in known.words if one.startswith("SIG")), "SIGABRT")
    message = f"the process ended with {signal}"
    if known.words and signal not in known.words:
        message += f": {known.words[0].replace('*', '')}"
    end = (Verdict(known.verdicts[0]), known.kinds[0], message)
    backend = next(name for name in known.backends if name in ("cpu", "interpreter"))
    cell = (known.op[0], known.element_types[0], backend)
    operations = [one for each in unit.programs for one in each.walk()]
    assert any(known.matches(Failure(*cell, *end, operation=one)) for one in operations)
    assert not any(known.matches(Failure(*cell, *end, operation=one)) for one in program().walk())
