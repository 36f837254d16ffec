"""Time that runs out is a backend's fault only where the backend was at work, and again so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.backends.base import Failed, failure_of
from conformance.backends.registry import parse
from conformance.executors.backend_workers import executor_of
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.fuzzing.calls import READABLE
from conformance.fuzzing.crashes import TRIES, CrashHandler, CrashMinimisation, is_harness_timeout
from conformance.fuzzing.grouping import place_of
from conformance.fuzzing.singles import PER_TRIAL
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.phases import Phase
from conformance.pipeline.outcome import Outcome
from conformance.triage.minimise.minimise import minimise
from conformance.verdict import Verdict
from generators.cells.plan import coverage
from generators.chains.strategy import program_at
from generators.values.contents import materialise
from reference.ir.program import Program
from reference.ops.xla.lowering import lower_program
from suites.meta.support.small_programs import array, op_program, tensor_of


@pytest.mark.parametrize(
    ("names", "ours"),
    [
        ((), True),
        (("execution",), False),
        (("locating", "compilation"), False),
        (("locating",), True),
        (("evaluation",), True),
    ],
)
def test_timeout_is_attributed_by_current_phase(names: tuple[str, ...], ours: bool) -> None:
    before = Phase("execution", 0, 0, 0.1, 0.2)
    phases = tuple(Phase(name, 0, 0, 1.0) for name in names)
    assert is_harness_timeout(WorkerTimeout(5.0, (before, *phases))) is ours
    assert is_harness_timeout(WorkerTimeout(1.5, (before, *phases)))
    assert not is_harness_timeout(WorkerCrash("SIGSEGV"))


def failure(verdict: Verdict, kind: str) -> FailingProgram:
    program = op_program("abs", [tensor_of(2)], tensor_of(2))
    return FailingProgram(0, program, (array([-1.0, 2.0]),), Outcome(verdict, kind))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("INTERNAL: no layout", "internal error"),
        ("RESOURCE_EXHAUSTED: 12 bytes", "out of memory"),
        ("Out of memory", "out of memory"),
    ],
)
def test_answered_failure_is_no_worker_loss(words: str, kind: str) -> None:
    assert failure_of(Failed(words)) == (Verdict.CRASHED, kind)
    with executor_of(parse("reference"), jobs=1) as executor:
        losses = CrashHandler(executor, 10.0)
        assert not losses.is_crash(failure(Verdict.CRASHED, kind))
        assert losses.is_varied(failure(Verdict.CRASHED, kind))
        assert losses.is_crash(failure(Verdict.CRASHED, "abnormal exit"))
        assert not losses.is_varied(failure(Verdict.CRASHED, "abnormal exit"))


def test_single_timeout_is_no_finding_but_single_crash_is() -> None:
    with executor_of(parse("reference"), jobs=1) as executor:
        losses, trial = CrashHandler(executor, 10.0), Trial("reference", 0, 0, 1)
        slow, dead = (
            failure(Verdict.TIMED_OUT, "no answer"),
            failure(Verdict.CRASHED, "abnormal exit"),
        )
        assert losses.minimise_crash(trial, slow, "reference") is None
        found = losses.minimise_crash(trial, dead, "reference")
    assert found is not None
    assert found.verdict is Verdict.CRASHED


def test_plan_of_crashed_trial_is_not_cached() -> None:
    with executor_of(parse("reference"), jobs=1) as executor:
        trial = Trial("reference", 0, PER_TRIAL, PER_TRIAL + 1)
        found = [
            CrashHandler(executor, 10.0).crash_result(trial, Verdict.CRASHED, "abnormal exit", "")
            for _ in range(2)
        ]
    assert found[0].failures[0].program == found[1].failures[0].program
    assert coverage.cache_info().currsize == 0


@pytest.mark.slow
def test_a_backend_that_hangs_every_time_is_found() -> None:
    with executor_of(parse("reference:hang"), jobs=1) as executor:
        slow = failure(Verdict.TIMED_OUT, "no answer")
        executor.one(Call("", READABLE, (slow.program,), 60.0))  # to start and load costs time, too
        losses, trial = CrashHandler(executor, 6.0), Trial("reference:hang", 0, 0, 1)
        found = losses.minimise_crash(trial, slow, "reference:hang", seconds=2.0)
    assert found is not None
    assert found.verdict is Verdict.TIMED_OUT


def test_place_of_failure_without_results_ignores_numbers_in_message() -> None:
    def place(message: str, verdict: Verdict = Verdict.REJECTED) -> str:
        told = failure(
            verdict, "abnormal exit" if verdict is Verdict.CRASHED else "refused as invalid"
        )
        return place_of(replace(told, outcome=replace(told.outcome, message=message)))

    assert place("line 3, column 5: padding is -2") == place("line 10, column 5: padding is -1")
    assert place("line 3, column 5: padding") != place("line 3, column 5: dilation")
    ended = "the process ended with SIGABRT: hlo.cc:{}] Check failed: {}"
    first, other, last = (
        place(ended.format(*one), Verdict.CRASHED) for one in ((1, "a"), (2, "a"), (2, "b"))
    )
    assert first == other != last
    assert place("the process ended with SIGSEGV", Verdict.CRASHED).endswith("abs")


OP = "multiply"

ENDED = "the process ended with SIGABRT"


def failures() -> list[FailingProgram]:
    """Return failing programs of several operations, with a single operation at fault."""
    found = []
    for number in range(80):
        case = program_at(11, number)
        program = lower_program(case.program)
        names = [one.name for one in program.walk()]
        if OP in names and len(names) > 8:
            inputs = materialise(program, case.inputs[0])
            outcome = Outcome(Verdict.CRASHED, "abnormal exit", ENDED)
            found.append(FailingProgram(number, program, inputs, outcome))
    return found[:4]


def fails(program: Program) -> bool:
    return any(one.name == OP for one in program.walk())


def message_of(program: Program, words: str = "") -> str | None:
    return ENDED + words if fails(program) else None


@pytest.mark.parametrize("failure", failures(), ids=lambda failure: str(failure.number))
def test_answers_one_by_one_lead_to_the_same_program_as_all_at_once(
    failure: FailingProgram,
) -> None:
    small, count = CrashMinimisation(failure), 0
    while (tried := small.next()) is not None:
        small.answer(message_of(tried[0]), 0.01)
        count += 1
    assert small.fails_again
    at_once = minimise(lambda p, _: fails(p), failure.program, failure.inputs, 60.0, TRIES)
    assert small.program == at_once.program
    assert 1 < count <= TRIES + 1
    assert len(list(small.program.walk())) < len(list(failure.program.walk()))


def test_failure_that_does_not_repeat_is_not_minimised() -> None:
    small = CrashMinimisation(failures()[0])
    assert small.next() == (small.failure.program, small.failure.inputs)
    small.answer(None, 0.1)
    assert small.next() is None
    assert not small.fails_again


def test_time_that_is_over_leaves_the_smallest_so_far() -> None:
    small = CrashMinimisation(failures()[0], 10.0)
    small.answer(ENDED, 1.0)
    tried = None
    while tried is None or not fails(tried[0]):
        tried = small.next()
        assert tried is not None
        small.answer(message_of(tried[0]), 0.0)
    small.answer(None, 9.0)
    assert small.next() is None
    assert small.fails_again


def test_finding_has_the_message_of_its_own_program() -> None:
    """Memory that an earlier program of the worker has written to says nothing of this one."""
    program = failures()[0].program
    broken = Outcome(
        Verdict.CRASHED, "abnormal exit", f"{ENDED}: malloc(): unaligned tcache chunk detected"
    )
    small = CrashMinimisation(replace(failures()[0], outcome=broken))
    while (tried := small.next()) is not None:
        count = len(list(tried[0].walk()))
        small.answer(message_of(tried[0], f": map.h:40] Check failed: {count} > 0"), 0.01)
    assert len(list(small.program.walk())) < len(list(program.walk()))
    assert (
        small.message == f"{ENDED}: map.h:40] Check failed: {len(list(small.program.walk()))} > 0"
    )


@pytest.mark.slow
def test_smaller_program_with_another_message_is_another_crash() -> None:
    small = CrashMinimisation(failures()[0])
    small.answer(f"{ENDED}: map.h:40] Check failed: found", 0.01)
    while (tried := small.next()) is not None:
        small.answer(message_of(tried[0], ": map.h:50] Check failed: emitted"), 0.01)
    assert small.program == small.failure.program
    assert small.message == f"{ENDED}: map.h:40] Check failed: found"
