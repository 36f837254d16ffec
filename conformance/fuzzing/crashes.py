"""Programs that crash or hang, and their minimisation; each attempt may crash a worker.

An answer may arrive at any time, so the campaign continues meanwhile. With each answer, the
minimisation is replayed from the beginning on the answers so far, up to its next attempt.
"""

from __future__ import annotations

import math

from conformance.backends.base import ends_process
from conformance.backends.session import COMPILATION, EXECUTION
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict, ending
from conformance.fuzzing.calls import GIVES_ANSWER, TimedResult, measure_call
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.grouping import may_be_same_crash
from conformance.fuzzing.seeds.material import case_of
from conformance.fuzzing.steering.coverage_counts import CampaignCoverage
from conformance.fuzzing.trial import FailingProgram, Trial, TrialResult
from conformance.limits import Limits
from conformance.pipeline.items import Inputs
from conformance.pipeline.outcome import Outcome, known_loss
from conformance.stablehlo.emit import EmitError, emit
from conformance.transforms.parameters import name_parameters
from conformance.triage.fault import group_title
from conformance.triage.minimise.minimise import minimise
from conformance.verdict import Verdict
from generators.cells.plan import forget_plans
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import Program
from reference.ops.xla.lowering import lower_program

CRASH_SECONDS = 0.5
"""Assumed seconds of a trial that crashes its worker, with the time to start a new worker."""


def worker_seconds(value: object, lost: float = CRASH_SECONDS) -> float:
    """Return the seconds that a worker spent on a call; `lost` if the worker crashed or timed
    out.
    """
    return value.seconds if isinstance(value, (TimedResult, WorkerTimeout)) else lost


def is_harness_timeout(lost: WorkerCrash | WorkerTimeout) -> bool:
    """Return whether a call timed out in the harness, and not in the backend.

    It is the backend's fault where that had been compiling or executing one program for at least
    half of the time: many programs are run to find the operation that goes wrong.
    """
    if isinstance(lost, WorkerCrash):
        return False
    going_on = [phase for phase in lost.phases if phase.ended is None]
    if not going_on or going_on[-1].name not in (COMPILATION, EXECUTION):
        return True
    return lost.seconds - going_on[-1].began < lost.seconds / 2


class CrashHandler:
    """Handling of programs whose workers crashed or timed out."""

    def __init__(self, executor: Executor, seconds: float) -> None:
        """Prepare to try programs in these workers, each with a time limit in `seconds`."""
        self._executor, self.seconds = executor, seconds

    def crash_result(self, trial: Trial, verdict: Verdict, kind: str, message: str) -> TrialResult:
        """Return the outcome of a trial of one program whose worker crashed or timed out."""
        guide, met = trial.guide, CampaignCoverage()
        case = case_of(trial, trial.start, guide)
        forget_plans()  # a campaign's own process makes few programs, and is to stay small
        met.note(case.program, guide)
        program = lower_program(case.program)
        outcome = known_loss(
            program, trial.expectations, trial.backend, Outcome(verdict, kind, message)
        )
        failure = FailingProgram(
            trial.start, program, materialise(program, case.inputs[0]), outcome
        )
        word = f"known {verdict}" if outcome.known else verdict.value
        return TrialResult({word: 1}, (failure,), met, 1, 0.0)

    def is_crash(self, failure: FailingProgram) -> bool:
        """Return whether a failure ended its worker; an error that a backend reports does not."""
        return ends_process(failure.outcome.verdict, failure.outcome.kind)

    def is_varied(self, failure: FailingProgram) -> bool:
        """Return whether a failing program is varied.

        Known failures and programs that crash are not: their variants would crash a worker each,
        possibly in different operations.
        """
        return not (failure.outcome.known or self.is_crash(failure))

    def call(self, name: object, trial: Trial, program: Program, inputs: Inputs) -> Call:
        """Return the call that tries a program, which may cost its worker."""
        return Call(name, measure_call, (GIVES_ANSWER, trial, program, inputs), self.seconds)

    def crash_message(self, failure: FailingProgram, value: object) -> str | None:
        """Return the message of a program that ended its worker with the verdict, the class and the
        signal of the failure, given the value of its call; None if it did not.
        """
        if not isinstance(value, (WorkerCrash, WorkerTimeout)) or is_harness_timeout(value):
            return None
        verdict, kind, message = crash_verdict(value)
        told = failure.outcome
        is_same = (verdict, kind) == (told.verdict, told.kind)
        is_same &= ending(told.message) in ("", ending(message))
        return message if is_same else None

    def minimise_crash(
        self,
        trial: Trial,
        failure: FailingProgram,
        backend: str,
        seconds: float = Limits.MINIMISING_CRASHES,
    ) -> Finding | None:
        """Return the finding of a failure, with its program minimised if it fails every time.

        None if a program that had timed out gives an answer now: the machine was slow.
        """
        if failure.outcome.known:
            return self.unminimised_finding(failure, backend)
        small = CrashMinimisation(failure, seconds)
        while (tried := small.next()) is not None:
            value = self._executor.one(self.call("", trial, *tried))
            small.answer(self.crash_message(failure, value), worker_seconds(value))
        return self.smallest_finding(trial, small, backend)

    def smallest_finding(
        self, trial: Trial, small: CrashMinimisation, backend: str
    ) -> Finding | None:
        """Return the finding of a failure with the smallest program so far; None as in
        `minimise_crash`.
        """
        failure = small.failure
        if not small.fails_again:
            was_slow = failure.outcome.verdict is Verdict.TIMED_OUT
            return None if was_slow else self.unminimised_finding(failure, backend)
        told = failure.outcome  # what it says of operations is not of the smaller program
        said = Outcome(told.verdict, told.kind, small.message)
        smaller = known_loss(small.program, trial.expectations, backend, said)
        return self.unminimised_finding(
            FailingProgram(failure.number, small.program, small.inputs, smaller), backend
        )

    def unminimised_finding(self, failure: FailingProgram, backend: str) -> Finding:
        """Return the finding of a failure without minimising it."""
        program = name_parameters(failure.program)
        try:
            text, expected = emit(program), tuple(evaluate(program, failure.inputs))
        except (EmitError, EvaluationError):
            text, expected = "", ()
        outcome = failure.outcome
        operations = program.main.body.operations[:-1]
        culprit = group_title(operations[-1:]) if operations else ""
        return Finding.of(
            outcome,
            program=program,
            text=text,
            inputs=failure.inputs,
            expected=expected,
            actual=(),
            elements=(),
            culprit=outcome.culprit or culprit,
            backend=backend,
        )


TRIES = 60
"""Maximum number of worker crashes for the minimisation of one program."""


class _NoAnswerYet(Exception):
    """Raised when an attempt has no answer yet."""

    def __init__(self, program: Program, inputs: Inputs) -> None:
        super().__init__()
        self.tried = program, inputs


class CrashMinimisation:
    """Minimisation of a program that crashes, one call per candidate.

    The failure's own message may be about another program, which has written to memory that this
    one uses. So the message of the first repetition says which crash it is.
    """

    def __init__(self, failure: FailingProgram, seconds: float = Limits.MINIMISING_CRASHES) -> None:
        """Begin without attempts; workers may spend `seconds` on this minimisation."""
        self.failure = failure
        self.program, self.inputs = failure.program, failure.inputs
        """The smallest failing program so far, and its inputs."""
        self.message = failure.outcome.message
        """The message of the smallest failing program's crash."""
        self._answers: list[str | None] = []
        self._left = seconds

    @property
    def fails_again(self) -> bool:
        """Whether the original program failed again on the first try."""
        return bool(self._answers) and self._answers[0] is not None

    def answer(self, message: str | None, seconds: float) -> None:
        """Record the result of the last attempt: its message if it failed with the same verdict and
        class, None if it did not, and its seconds.
        """
        self._answers.append(message)
        self._left -= seconds

    def next(self) -> tuple[Program, Inputs] | None:
        """Return the program to be tried next, and its inputs; None if nothing is left to try."""
        if not self._answers:
            return self.failure.program, self.failure.inputs
        first, *others = self._answers
        if first is None:
            return None
        if not others:
            self.message = first
        if self._left <= 0:
            return None
        answers = iter(others)

        def fails(program: Program, inputs: Inputs) -> bool:
            try:
                message = next(answers)
            except StopIteration:
                raise _NoAnswerYet(program, inputs) from None
            verdict, kind = self.failure.outcome.verdict, self.failure.outcome.kind
            if message is None or not may_be_same_crash(verdict, kind, first, message):
                return False
            self.program, self.inputs, self.message = program, inputs, message
            return True

        try:
            minimise(fails, self.failure.program, self.failure.inputs, math.inf, TRIES)
        except _NoAnswerYet as asked:
            return asked.tried
        return None
