"""The search for a counterexample: which programs are tried, and which is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.backends.registry import parse
from conformance.checking.settings import ReplayedCounterexample
from conformance.executors.local import Call, WorkerCrash
from conformance.fuzzing.calls import TimedResult
from conformance.fuzzing.trial import FailingProgram
from conformance.gate.classes import ONLY_IN_BATCH
from conformance.gate.expectations import Counterexample, Expectation
from conformance.pipeline.outcome import Outcome
from conformance.updating import smallest
from conformance.updating.groups import FailureGroup, NewFailure
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


def test_smallest_programs_are_minimised_first(search: Any) -> None:
    found, executor = search(lambda _: SMALL, lambda _: True, failure(9), failure(2), failure(5))
    assert found is SMALL
    (call,) = executor.made
    assert call.function is MINIMISE_RECORDED
    trial, given, id_, seconds = call.arguments
    assert (given, id_, seconds) == (("line\n" * 2, b"archive"), "mine", 5.0)
    assert (trial.backend, [one.id for one in trial.expectations]) == (
        "cpu:AVX2",
        ["other", "mine"],
    )
    assert call.timeout > 2 * seconds


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


def test_a_long_program_is_not_accepted(search: Any) -> None:
    long = Counterexample("x" * 20_001)
    assert search(lambda _: long, lambda _: True, failure(1))[0] is None
    long = Counterexample("x" * 19_990, ("y" * 6, "z" * 6))
    assert search(lambda _: long, lambda _: True, failure(1))[0] is None


def test_failures_of_a_batch_alone_have_none(search: Any) -> None:
    found, executor = search(lambda _: SMALL, lambda _: True, failure(1, C, ONLY_IN_BATCH))
    assert (found, executor.made) == (None, [])


def test_an_accepted_program_is_not_minimised(search: Any) -> None:
    """Any smaller program may be accepted, too."""
    accepted = failure(1, Verdict.ACCEPTED, "C1")
    found, executor = search(lambda _: WHOLE, lambda _: True, accepted)
    assert found is WHOLE
    assert functions(executor) == [UNMINIMISED_COUNTEREXAMPLE]


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


@pytest.mark.parametrize("answer", [None, WorkerCrash("SIGSEGV"), ValueError("broken")])
def test_what_is_no_counterexample_is_none(search: Any, answer: object) -> None:
    assert search(lambda _: answer, lambda _: True, failure(1))[0] is None
