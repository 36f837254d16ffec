"""The command `reduce`: minimises a failing program of the user's in a worker."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.backends.registry import Choice, parse
from conformance.campaign.budget import seconds_of
from conformance.checking.saving import INPUTS, PROGRAM
from conformance.errors import UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.frontends.arguments import load as load_inputs
from conformance.fuzzing.attribution.isolation import explain_in_isolation
from conformance.fuzzing.calls import EXPLAIN_FINDING, FAILING_PROGRAM, MINIMISE_FAILURE
from conformance.fuzzing.crashes import CrashHandler
from conformance.fuzzing.finding import Finding
from conformance.fuzzing.keeping import bundle
from conformance.fuzzing.trial import FailingProgram, Trial
from conformance.gate.files import Given
from conformance.gate.reading import load
from conformance.gate.versions import add_given_version, applicable_entries, given_versions
from conformance.judging.messages import verdict_text
from conformance.limits import LIMITS, Limits
from conformance.pipeline.outcome import Outcome
from conformance.results.versions import versions
from conformance.text import one_line
from conformance.transforms.values import working_operations


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `hlo-conformance reduce`."""

    file: Path
    backend: str = "cpu"
    inputs: Path | None = None
    seed: int = 0
    expectations: Given = None
    backend_versions: tuple[str, ...] = ()
    out: Path = Path("hlo-conformance-reduced")
    budget: str = "2m"
    limits: Limits = LIMITS
    command: str = ""


def reduce(options: Options) -> int:
    """Minimise the program of a file, write it with its inputs, and return the exit code.

    1 where it fails, 0 where it does not. The file may be the folder of a saved failure.

    Raises:
        UsageError: when the file, the backend or a folder is not usable, or the file holds no
            program, or several.
        InputsError: when the inputs are not what the program takes.
        NotAvailable: when the backend is not available here.
    """
    options = _resolve_folder(options)
    if not options.file.is_file():
        raise UsageError(f"{options.file}: no such file")
    backend, seconds = parse(options.backend), seconds_of(options.budget)
    if options.inputs is not None:
        load_inputs(options.inputs)
    known = load(options.expectations, (backend.name,), versions())
    given = given_versions(options.backend_versions, (backend.name,))
    with executor_of(
        backend, jobs=1, limits=options.limits, functions=(MINIMISE_FAILURE, EXPLAIN_FINDING)
    ) as executor:
        description = add_given_version(describe(executor, backend), given)
        known = applicable_entries(known, [description])
        trial = Trial(
            backend.spelling, options.seed, 0, 1, frozenset(), known, options.limits.evaluation
        )
        finding = _minimised_finding(executor, options, trial, backend, seconds)
        if finding is not None:
            finding = _explain_finding(executor, options, trial, finding)
    if finding is None:
        sys.stdout.write(f"{options.file}: it does not fail on {backend.name}\n")
        return 0
    if finding.known:
        sys.stderr.write(f"a known divergence: {', '.join(finding.known)}\n")
    own = bundle.write(options.out, finding, description, options.command)
    told = verdict_text(finding.verdict, finding.kind, one_line(finding.message))
    count = len(working_operations(finding.program))
    sys.stdout.write(
        f"{finding.text.rstrip()}\n{told}\n{count} operation{'s' if count != 1 else ''}: {own}\n"
    )
    for words in (finding.cause.line, finding.vote.line):
        sys.stdout.write(f"{words}\n" if words else "")
    return 1


def _resolve_folder(options: Options) -> Options:
    """Return the options with program and inputs in place of the folder of a saved failure."""
    folder = options.file
    if not folder.is_dir():
        return options
    if not (folder / PROGRAM).is_file():
        raise UsageError(f"{folder}: is a folder without a {PROGRAM}")
    inputs = options.inputs or (folder / INPUTS if (folder / INPUTS).is_file() else None)
    return replace(options, file=folder / PROGRAM, inputs=inputs)


def _explain_finding(
    executor: Executor, options: Options, trial: Trial, finding: Finding
) -> Finding:
    """Return the finding with its cause; if the program ends workers, each question is asked in a
    worker of its own.
    """
    seconds = Limits.EXPLAINING_CRASHES
    call = Call("", EXPLAIN_FINDING, (trial, finding, seconds), seconds + options.limits.timeout)
    answer = executor.one(call)
    if isinstance(answer, Finding):
        return answer
    return explain_in_isolation(executor, trial, finding, options.limits.timeout)


def _minimised_finding(
    executor: Executor, options: Options, trial: Trial, backend: Choice, seconds: float
) -> Finding | None:
    """Return the finding of the minimised program; None if the program does not fail."""
    call = Call(
        "", FAILING_PROGRAM, (trial, options.file, options.inputs), 4 * options.limits.timeout
    )
    value: object = executor.one(call)
    losses = CrashHandler(executor, options.limits.timeout)
    if isinstance(value, (WorkerCrash, WorkerTimeout)):
        given = executor.one(replace(call, function=_load_failure))
        if not isinstance(given, FailingProgram):
            raise UsageError(f"{options.file}: {given}")
        verdict, kind, message = crash_verdict(value)
        failure = replace(given, outcome=Outcome(verdict, kind, message))
        smaller = losses.minimise_crash(trial, failure, backend.name, seconds)
        return smaller or losses.unminimised_finding(failure, backend.name)
    if value is None:
        return None
    if not isinstance(value, FailingProgram):
        raise value if isinstance(value, Exception) else UsageError(f"{options.file}: {value}")
    answer = executor.one(
        Call("", MINIMISE_FAILURE, (trial, value, seconds), seconds + options.limits.timeout)
    )
    if isinstance(answer, Finding):
        return answer
    return losses.unminimised_finding(value, backend.name)


def _load_failure(trial: Trial, file: Path, inputs: Path | None) -> FailingProgram:
    """Return the program of a file on its inputs as a failure, without running it; runs in a
    worker.
    """
    from conformance.fuzzing.user_programs import read_reducible

    return read_reducible(trial, file, inputs)[0]
