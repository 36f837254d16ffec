"""Programs of a run as counterexamples: read, minimised and written in a worker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.backends.session import open_session
from conformance.frontends.modules import Unit, units_of
from conformance.fuzzing.execution import judge_in_isolation
from conformance.fuzzing.minimisation import inline_if_possible, readable_text
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.counterexamples import input_text
from conformance.gate.expectations import Counterexample
from conformance.phases import phase
from conformance.pipeline.items import Inputs
from conformance.pipeline.outcome import Outcome
from conformance.results.inputs import unpack_inputs
from conformance.stablehlo.parse import parse_module
from conformance.stablehlo.pretty import print_pretty
from conformance.transforms.parameters import name_parameters
from conformance.triage.minimise.minimise import minimise
from conformance.verdict import Verdict
from reference.ir.program import Program, TensorType
from reference.ir.types import Array


def recorded_failure(given: tuple[str, bytes], said: Outcome) -> FailingProgram:
    """Return a recorded program with its inputs as a failure, without running it."""
    program = parse_module(given[0])
    return FailingProgram(0, program, unpack_inputs(given[1]) if given[1] else (), said)


def minimise_recorded(
    trial: Trial, given: tuple[str, bytes], id_: str, seconds: float
) -> Counterexample | None:
    """Return the smallest program found that fails as the entry expects.

    The program may also have failures that other entries of the trial match; a smaller program may
    lack these.
    """
    failing, session = (
        recorded_failure(given, Outcome(Verdict.PASS)),
        open_session(trial.backend, phase),
    )
    if failing.program.process_count > 1:
        return None

    def fails(program: Program, inputs: Inputs) -> bool:
        outcome = judge_in_isolation(trial, session, program, inputs)
        return outcome is not None and id_ in outcome.known

    small = minimise(fails, inline_if_possible(failing.program), failing.inputs, seconds)
    return as_counterexample(small.program, small.inputs)


def as_counterexample(program: Program, inputs: Sequence[Array]) -> Counterexample:
    """Return a program and its inputs in the form of an expectation file."""
    named = name_parameters(program)
    return Counterexample(readable_text(named), tuple(map(input_text, inputs)))


def unminimised_counterexample(text: str, inputs: bytes) -> Counterexample:
    """Return a recorded program with its inputs, or zeros if none were kept.

    A program that MLIR's verifier refuses takes none: it is never run.
    """
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
