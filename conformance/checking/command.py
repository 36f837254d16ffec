"""The command `check`: options are validated, workers check the files, results are printed.

The parent loads neither a backend nor jaxlib; while it looks at the arguments, the process that
workers are forked from loads them.
"""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from conformance.backends.registry import Choice, parse
from conformance.checking.calls import CHECK_BATCH, DESCRIBE_FILE
from conformance.checking.progress import FilesBar
from conformance.errors import NOTHING_TESTED, USAGE, UsageError
from conformance.executors.backend_workers import describe, executor_of, workers
from conformance.executors.deferred import modules_of
from conformance.executors.executor import Executor
from conformance.executors.local import Call, LocalExecutor, WorkerCrash, WorkerTimeout
from conformance.executors.lost import crash_verdict
from conformance.gate.files import Given, as_tuple
from conformance.judging.messages import verdict_text
from conformance.limits import FILE_LIMITS, Limits
from conformance.outputs import checked as output
from conformance.outputs.schema import CHECK, json_line
from conformance.text import one_line
from conformance.verdict import Verdict

if TYPE_CHECKING:  # what the parent loads once the workers' server is on its way
    from conformance.backends.base import Description
    from conformance.checking.settings import CheckedFile, Settings
    from conformance.gate.expectations import Expectation


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `hlo-conformance check`."""

    files: tuple[str, ...]
    backend: str = "cpu"
    inputs: Path | None = None
    jobs: int | None = None
    seed: int = 0
    expectations: Given = None
    backend_versions: tuple[str, ...] = ()
    save: Path | None = None
    as_json: bool = False
    explains: bool = False
    limits: Limits = FILE_LIMITS


def check(options: Options) -> int:
    """Check the files, print a line for each as it is done, and return the exit code.

    1 if no expectation matches some failure, 2 if a file holds no valid program, 4 if nothing could
    be checked, 0 otherwise.

    Raises:
        UsageError: when a file, the backend, the inputs or a folder is not usable.
        ExpectationError: when an expectation file is invalid.
        InputsError: when the inputs are not what a program takes.
        NotAvailable: when the backend is not available here.
    """
    _files_exist(options.files)
    backend = parse(options.backend)
    jobs = min(options.jobs or workers(backend), len(options.files))
    with executor_of(
        backend, jobs=jobs, limits=options.limits, functions=(CHECK_BATCH,)
    ) as executor:
        from conformance.checking.files import check_files  # while the workers' server starts

        settings, reasons = _settings(options, backend)
        described = describe(executor, backend)
        settings = replace(settings, expectations=_true_of(described, settings, options))
        verdicts = check_files(executor, options.files, settings, jobs)
        return _report(verdicts, options, reasons)


def _files_exist(files: Sequence[str]) -> None:
    for path in files:
        if not Path(path).is_file():
            what = "is a folder" if Path(path).is_dir() else "no such file"
            raise UsageError(f"{path}: {what}")


def _settings(options: Options, backend: Choice) -> tuple[Settings, dict[str, str]]:
    """Return the settings of workers, and the reason of each expectation by its id."""
    from conformance.checking.settings import Settings
    from conformance.frontends.arguments import load as load_inputs
    from conformance.gate.reading import load
    from conformance.results.versions import versions

    if options.inputs is not None:
        load_inputs(options.inputs)
    known = load(options.expectations, (backend.name,), versions())
    if options.save is not None:
        _can_be_written(options.save)
    settings = Settings(
        backend.spelling, options.inputs, options.seed, known, options.limits, options.save,
        options.explains,
    )  # fmt: skip
    return settings, {expectation.id: expectation.reason for expectation in known}


def _true_of(
    described: Description, settings: Settings, options: Options
) -> tuple[Expectation, ...]:
    """Return the expectations that apply to the backend's own version."""
    from conformance.gate.versions import add_given_version, applicable_entries, given_versions

    given = given_versions(options.backend_versions, (described.name,))
    return applicable_entries(settings.expectations, [add_given_version(described, given)])


def _can_be_written(folder: Path) -> None:
    """Create the folder for failing programs, and check that it is writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from error


def _report(
    verdicts: Iterable[CheckedFile | None], options: Options, reasons: Mapping[str, str]
) -> int:
    """Print a line for each verdict, and counts if there are several; return the exit code."""
    counts: Counter[str] = Counter()
    codes: set[int] = set()
    failed = unjudged = 0
    first = ""
    with FilesBar(Console(stderr=True), len(options.files)) as bar:
        for checked in filter(None, verdicts):
            counts[_word(checked)] += 1
            codes.add(_code_of(checked))
            failed += checked.is_new_failure
            unjudged += checked.verdict is Verdict.NOT_JUDGED
            if checked.is_new_failure and not checked.is_invalid:
                first = first or checked.file
            bar.advance(failed)
            line = _verdict_json(checked) if options.as_json else _verdict_line(checked, reasons)
            sys.stdout.write(line + "\n")
    if len(options.files) > 1:
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        sys.stderr.write(f"{len(options.files)} files: {told}\n")
    if unjudged and not options.as_json:
        count = "1 file" if unjudged == 1 else f"{unjudged} files"
        sys.stderr.write(
            f"hlo-conformance could not judge {count}, which says nothing about the backend: give "
            "the result of what it does not know as an input, or report it\n"
        )
    if first and not options.as_json:
        sys.stderr.write(f"to minimise the failure: {_reduction(first, options)}\n")
    return next((code for code in (1, USAGE, 0) if code in codes), NOTHING_TESTED)


def _reduction(file: str, options: Options) -> str:
    """Return the command that minimises the program of a file, on the inputs that were given."""
    given = [file, "--backend", options.backend]
    given += ["--inputs", str(options.inputs)] if options.inputs is not None else []
    for one in as_tuple(options.expectations) or ():
        given += ["--expectations", one]
    for version in options.backend_versions:
        given += ["--backend-version", version]
    shown = shlex.join(given).encode("utf-8", "backslashreplace").decode()
    return f"hlo-conformance reduce {shown}"


def _word(checked: CheckedFile) -> str:
    return ("known " if checked.known else "") + checked.verdict.value


def _code_of(checked: CheckedFile) -> int:
    """Return 1 for a divergence, 2 for a file without a valid program, 4 if nothing was tested,
    else 0.
    """
    if checked.is_invalid:
        return USAGE
    if not checked.verdict.is_tested:
        return NOTHING_TESTED
    return 1 if checked.is_new_failure else 0


def _verdict_json(checked: CheckedFile) -> str:
    """Return a verdict as an object of JSON on one line."""
    shown = output.Checked(
        schema="check",
        schema_version=CHECK.version,
        file=checked.file,
        verdict=checked.verdict,
        class_=checked.kind,
        operation=checked.operation,
        message=one_line(checked.message),
        known=checked.known,
        notes=tuple(one_line(note) for note in checked.notes),
    )
    return json_line(shown)


def _verdict_line(checked: CheckedFile, reasons: Mapping[str, str]) -> str:
    """Return a verdict on one line."""
    told = [f"a known divergence, {id_}: {reasons[id_]}" for id_ in checked.known]
    notes = [f"note: {note}" for note in checked.notes]
    message = "; ".join(filter(None, (checked.message, *told, *notes)))
    verdict = verdict_text(_word(checked), checked.kind, message)
    line = one_line(f"{checked.file}: {verdict}")
    return line.encode("utf-8", "backslashreplace").decode()  # file names may hold any bytes


def describe_inputs(options: Options) -> int:
    """Print the parameters and results of the programs, and return the exit code.

    2 where a file holds no valid program, 4 where none can be read, 0 otherwise.

    Raises:
        UsageError: when a file cannot be read.
    """
    _files_exist(options.files)
    codes: set[int] = set()
    with LocalExecutor(1, preload=modules_of((DESCRIBE_FILE,))) as executor:
        for file in options.files:
            entries = _describe_file(executor, file, options.limits.timeout)
            for line in map(json.dumps, entries) if options.as_json else _lines_of(entries):
                sys.stdout.write(line + "\n")
            for entry in entries:
                refused = USAGE if entry.get("invalid") else NOTHING_TESTED
                codes.add(0 if "program" in entry else refused)
    return next((code for code in (USAGE, 0) if code in codes), NOTHING_TESTED)


def _describe_file(executor: Executor, file: str, timeout: float) -> list[dict[str, Any]]:
    answer = executor.one(Call(file, DESCRIBE_FILE, (file,), timeout))
    if isinstance(answer, (WorkerCrash, WorkerTimeout)):
        return [{"file": file, "reason": crash_verdict(answer)[2], "invalid": False}]
    if isinstance(answer, OSError):
        raise UsageError(f"{file}: {answer.strerror or answer}") from answer
    if isinstance(answer, Exception):
        raise answer
    return answer


def _lines_of(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield lines about parameters and results of programs, for people."""
    for entry in entries:
        if "reason" in entry:
            yield f"{entry['file']}: {one_line(entry['reason'])}"
            continue
        yield f"{entry['file']}: @{entry['program']}"
        taken, results = entry["parameters"], entry["results"]
        yield "  takes" if taken else "  takes no inputs"
        for value in taken:
            called = f"  (%{value['called']})" if value["called"] != value["name"] else ""
            yield f"    {value['name']}: {value['type']}{called}"
        yield "  returns"
        for value in results:
            yield f"    {'%' + value['called'] + ': ' if value['called'] else ''}{value['type']}"
        if taken:
            yield "  inputs.npz for --inputs, all zero:"
            yield from (f"    {line}" for line in entry["snippet"].splitlines())
