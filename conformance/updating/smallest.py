"""The smallest counterexample of an entry: found among its programs, minimised, and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from conformance.backends.base import ends_process
from conformance.backends.registry import Choice
from conformance.check.counterexamples import replayed
from conformance.executors.executor import Executor
from conformance.executors.local import Call
from conformance.fuzzing.crashes import Losses, Shrinking, spent_on
from conformance.fuzzing.trial import Hit, Inputs, Trial
from conformance.gate.expectations import Counterexample, Expectation
from conformance.limits import LIMITS
from conformance.pipeline.outcome import Outcome, known_loss
from conformance.pipeline.records import ONLY_IN_BATCH
from conformance.results.inputs import unpack_inputs
from conformance.updating.groups import Group, NewFailure
from conformance.verdict import Verdict
from reference.ir.program import Program, TensorType
from reference.ir.types import Array

_TRIED = 3
"""Programs of a group from which a counterexample is made, at most, beginning with the smallest."""

_LONGEST = 20_000
"""Characters of a counterexample that can still be read."""


@dataclass(frozen=True, slots=True)
class Search:
    """Where counterexamples are looked for: workers of a backend, all entries of the run, the new
    ones included, and the seconds that minimising a program may take."""

    executor: Executor
    choice: Choice
    entries: tuple[Expectation, ...]
    seconds: float

    def trial(self, entries: tuple[Expectation, ...]) -> Trial:
        """Return what programs are judged by."""
        return Trial(self.choice.spelling, 0, 0, 1, frozenset(), entries, self.seconds)


def counterexample(search: Search, group: Group, entry: Expectation) -> Counterexample | None:
    """Return a small program that the entry alone knows on the backend, if there is one."""
    if group.kind == ONLY_IN_BATCH:
        return None
    for failure in sorted(group.failures, key=lambda one: one.size)[:_TRIED]:
        for make in (_minimised, _as_it_is):
            made = make(search, failure, entry)
            if made is not None and _shows(search, entry, made):
                return made
    return None


def _minimised(search: Search, failure: NewFailure, entry: Expectation) -> Counterexample | None:
    if failure.verdict is Verdict.ACCEPTED or failure.record.detail is None:
        return None
    executor, seconds = search.executor, search.seconds
    given = (failure.record.detail.program, failure.inputs)
    if not ends_process(failure.verdict, failure.kind):
        asked = (search.trial(search.entries), given, entry.id, seconds)
        answer = executor.one(Call("", reduced, asked, 2 * seconds + LIMITS.timeout))
        return answer if isinstance(answer, Counterexample) else None
    said = Outcome(failure.verdict, failure.kind, failure.message)
    hit = executor.one(Call("", hit_of, (given, said), LIMITS.timeout))
    if not isinstance(hit, Hit) or hit.program.process_count > 1:
        return None
    small = _shrunk(executor, search.trial((entry,)), hit, search.choice.name, seconds)
    if small is None:
        return None
    answer = executor.one(Call("", as_counterexample, small, LIMITS.timeout))
    return answer if isinstance(answer, Counterexample) else None


def _shrunk(
    executor: Executor, trial: Trial, hit: Hit, backend: str, seconds: float
) -> tuple[Program, Inputs] | None:
    """Return the smallest program found that ends its process as a hit does, and that the entry of
    the trial is about; None where the hit does not do so again."""
    losses, small = Losses(executor, seconds), Shrinking(hit, 4 * seconds)
    while (tried := small.next()) is not None:
        if known_loss(tried[0], trial.expectations, backend, hit.outcome).known:
            value = executor.one(losses.call("", trial, *tried))
            small.answer(losses.is_again(hit, value), spent_on(value))
        else:
            small.answer(fails=False, seconds=0.0)
    return (small.program, small.inputs) if small.fails_again else None


def _as_it_is(search: Search, failure: NewFailure, entry: Expectation) -> Counterexample | None:
    del entry
    if failure.record.detail is None:
        return None
    given = (failure.record.detail.program, failure.inputs)
    answer = search.executor.one(Call("", written_as_it_is, given, LIMITS.timeout))
    return answer if isinstance(answer, Counterexample) else None


def _shows(search: Search, entry: Expectation, one: Counterexample) -> bool:
    """Tell whether the entry knows what a program comes to, as `expectations check` asks it."""
    if len(one.program) + sum(map(len, one.inputs)) > _LONGEST:
        return False
    whole = structs.replace(entry, counterexample=one)
    seen = replayed(search.executor, [whole], search.choice.spelling)
    return any(found is not None and found.reproduces for found in seen)


# --- In workers ----------------------------------------------------------------------------------


def hit_of(given: tuple[str, bytes], said: Outcome) -> Hit:
    """In a worker: a recorded program with its inputs, not run."""
    from conformance.stablehlo.parse import parse_module

    program = parse_module(given[0])
    return Hit(0, program, unpack_inputs(given[1]) if given[1] else (), said)


def reduced(
    trial: Trial, given: tuple[str, bytes], id_: str, seconds: float
) -> Counterexample | None:
    """In a worker: the smallest program found that fails in the way that an entry knows.

    Something else may fail beside it that other entries of the trial know: a program of fewer
    elements may do without.
    """
    from conformance.backends.session import open_session
    from conformance.fuzzing.execution import judged_alone
    from conformance.fuzzing.minimisation import flat
    from conformance.phases import phase
    from conformance.triage.minimise.minimise import minimise

    hit, session = hit_of(given, Outcome(Verdict.PASS)), open_session(trial.backend, phase)
    if hit.program.process_count > 1:
        return None

    def fails(program: Program, inputs: Inputs) -> bool:
        outcome = judged_alone(trial, session, program, inputs)
        return outcome is not None and id_ in outcome.known

    small = minimise(fails, flat(hit.program), hit.inputs, seconds)
    return as_counterexample(small.program, small.inputs)


def as_counterexample(program: Program, inputs: Sequence[Array]) -> Counterexample:
    """In a worker: a program and its inputs as an expectation file writes them."""
    from conformance.fuzzing.minimisation import readable
    from conformance.gate.counterexamples import input_text
    from conformance.transforms.parameters import with_named_parameters

    named = with_named_parameters(program)
    return Counterexample(readable(named), tuple(map(input_text, inputs)))


def written_as_it_is(text: str, inputs: bytes) -> Counterexample:
    """In a worker: a recorded program with its inputs, zeros where none were kept.

    One that MLIR's verifier refuses takes none: it is never run.
    """
    from conformance.frontends.modules import Unit, units_of
    from conformance.gate.counterexamples import input_text
    from conformance.stablehlo.pretty import print_pretty

    (unit,) = units_of(text)
    if not isinstance(unit, Unit):
        return Counterexample(text)
    program = unit.flat.program
    arrays: Sequence[Array] = unpack_inputs(inputs) if inputs else ()
    if not arrays:
        types = [one.type for one in program.main.arguments * program.process_count]
        arrays = [
            np.zeros(of.static_shape, of.stored.storage)
            for of in types
            if isinstance(of, TensorType)
        ]
    return Counterexample(print_pretty([text])[0], tuple(map(input_text, arrays)))
