"""The command line. See `hlo-conformance --help`.

Exit codes: 0 conforms, 1 new divergence or loss, 2 usage, 3 backend not available, 4 nothing was
tested, 130 interrupted. Any error is printed as one line on standard error, or as a traceback with
HLO_CONFORMANCE_DEBUG=1 in the environment. Modules are imported by the commands that need them: a
worker process loads this file too.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from conformance import options
from conformance.commands import expectations as known_divergences
from conformance.commands.bisecting import bisect
from conformance.commands.campaigns import fuzz, reduce
from conformance.commands.exporting import export
from conformance.commands.reporting import (
    DEFAULT_OUT,
    baseline_app,
    check_folder_of_run,
    print_lines,
    report,
    write_reports,
)
from conformance.commands.schemas import schema
from conformance.commands.serving import serve
from conformance.commands.sweeping import sweep
from conformance.errors import (
    INTERRUPTED,
    NOT_AVAILABLE,
    NOTHING_TESTED,
    USAGE,
    NotAvailable,
    UsageError,
    describe_unknown,
)
from conformance.limits import FILE_LIMITS, LIMITS, Limits
from conformance.options import NAME

if TYPE_CHECKING:  # the whole harness, which `--help` and a worker's start must not wait for
    from conformance.campaign.planning import Options

app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def common_options(version: options.Version = False) -> None:
    """Test how a compiler or device computes StableHLO ops, against a reference."""


@app.command()
@options.add_limit_options(LIMITS, "Seconds for a batch of cases; a case in isolation has a third.")
def run(
    backend: options.Backends = None,
    op: options.Ops = None,
    element_type: options.ElementTypes = None,
    profile: options.Profile = "standard",
    seed: options.CaseSeed = 0,
    shard: options.Shard = "1/1",
    jobs: options.Jobs = None,
    executor: options.ExecutorName = options.EngineName.LOCAL,
    address: options.Address = None,
    expectations: options.Expectations = None,
    backend_version: options.BackendVersions = None,
    out: options.Out = DEFAULT_OUT,
    strict: options.Strict = False,
    baseline: options.Baseline = None,
    at_least: options.AtLeast = None,
    budget: options.RunBudget = None,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    ci: options.CIOption = options.CI.AUTO,
    limits: Limits = LIMITS,
    repeat: options.Repeat = 3,
    fresh: options.FreshRun = False,
) -> int:
    """Test a backend with generated programs of every op and element type.

    The reference judges each result. The same command continues an interrupted run. Exits with 1
    on a divergence that no expectation matches; with a baseline, on new and lost cases.
    """
    from conformance.campaign.budget import seconds_of
    from conformance.campaign.planning import Options
    from conformance.gate.baselines.baseline import read_baseline
    from conformance.gate.conclusion import parse_share

    return _run(
        ci,
        Options(
            out=out,
            backends=tuple(dict.fromkeys(backend or ["cpu"])),
            ops=tuple(op or ()),
            element_types=tuple(element_type or ()),
            profile=profile,
            seed=seed,
            shard=options.parse_shard(shard),
            jobs=jobs,
            limits=limits,
            repeats=repeat,
            expectations=expectations,
            backend_versions=tuple(backend_version or ()),
            fresh=fresh,
            strict=strict,
            baseline=None if baseline is None else read_baseline(baseline),
            at_least=None if at_least is None else parse_share(at_least),
            budget=None if budget is None else seconds_of(budget),
            cache=None if no_cache else cache,
            engine=options.engine_of(executor, address),
            command=options.given_command(),
        ),
    )


@app.command()
def judge(
    vectors: options.Vectors,
    outputs: options.Outputs,
    name: options.ToolName = "tool",
    expectations: options.Expectations = None,
    out: options.Out = DEFAULT_OUT,
    ci: options.CIOption = options.CI.AUTO,
    fresh: options.FreshRun = False,
) -> int:
    """Judge what any tool made of exported vectors, with the records and reports of `run`.

    Vectors without outputs are unsupported.
    """
    from conformance.campaign.planning import Options
    from conformance.vectors.writing import read_suite

    try:
        suite = read_suite(vectors)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{vectors}: {reason}; `export` writes vectors") from error
    return _run(
        ci,
        Options(
            out=out,
            backends=(f"outputs:{name}={vectors},{outputs}",),
            ops=tuple(suite["ops"]),
            element_types=tuple(suite["element_types"]),
            profile=suite["profile"],
            seed=suite["seed"],
            repeats=1,
            expectations=expectations,
            fresh=fresh,
            command=options.given_command(),
        ),
    )


def _run(ci: options.CI, asked: Options) -> int:
    from conformance.campaign import runner
    from conformance.campaign.planning import plan
    from conformance.campaign.progress import watcher
    from conformance.gate.baselines.comparison import compare
    from conformance.gate.conclusion import closing_lines
    from conformance.results.lines import lines_of

    if not plan(asked).cells:
        if asked.shard[1] > 1 and plan(replace(asked, shard=(1, 1))).cells:
            part = "/".join(map(str, asked.shard))
            raise _NothingTestedError(
                f"shard {part} has no cell, as there are too few for so many parts: nothing was "
                "tested; merge the others without it"
            )
        raise _NothingTestedError("no op has a cell of that element type: nothing was tested")
    check_folder_of_run(asked.out)
    data = runner.run(asked, watcher(Console(stderr=True)))
    where = "" if asked.out == DEFAULT_OUT else f" --db {shlex.quote(str(asked.out))}"
    replaying = f"{NAME} replay {{}}{where}"
    comparison = None if asked.baseline is None else compare(data, asked.baseline)
    annotations = write_reports(data, asked.out, comparison, ci)
    print_lines(
        [
            *lines_of(data, replaying, is_compared=comparison is not None),
            *closing_lines(data, comparison, asked.at_least, replaying),
            f"report: {asked.out / 'index.html'}",
            *annotations,
        ]
    )
    if data.exit_code == NOTHING_TESTED:
        raise _NothingTestedError("the backend supports none of these cases: nothing was tested")
    return data.exit_code or 0


class _NothingTestedError(Exception):
    """Nothing was tested: exit code 4."""


app.command()(report)
app.command()(schema)
app.add_typer(baseline_app, name="baseline")


@app.command()
@options.add_limit_options(LIMITS, "Seconds for the case.")
def replay(
    id: options.CaseOrFinding,  # noqa: A002 - the argument's name
    db: options.RunFolder = DEFAULT_OUT,
    limits: Limits = LIMITS,
    generic: options.Generic = False,
    backend: options.ReplayBackends = None,
) -> int:
    """Replay a recorded case: print its program, inputs, results, the verdict then and now, and the
    expectation that matches it.

    Given the folder of a failure that `check --save`, `fuzz` or `reduce` wrote, list the backends
    on which it reproduces. Exits with 1 if the case still fails on any backend.
    """
    from conformance.campaign import replay as replaying

    if Path(id).is_dir():
        from conformance.fuzzing.keeping import replay as findings

        kept = findings.read_finding(Path(id))
        rows = findings.replay(kept, backend or (), limits)
        print_lines(findings.lines(kept, rows))
        return findings.exit_code(rows)
    if len(Path(id).parts) > 1:
        raise UsageError(
            f"there is no folder {id}: give the folder of a finding, or the id of a case"
        )
    case = replaying.find(db, id)
    fails = False
    for name in backend or [case.backend]:
        replayed = replaying.replay(replace(case, backend=name), limits, generic=generic)
        print_lines(replaying.lines(replayed, case.record))
        fails |= replayed.record.verdict.fails
    return 1 if fails else 0


@app.command()
@options.add_limit_options(
    FILE_LIMITS, "Seconds for each file, at most half of them to find causes."
)
def check(
    files: options.Files,
    backend: options.Backend = "cpu",
    inputs: options.ProgramInputs = None,
    format: options.LinesFormatOption = options.LinesFormat.TEXT,  # noqa: A002 - the option's name
    jobs: options.Jobs = None,
    limits: Limits = FILE_LIMITS,
    seed: options.InputSeed = 0,
    expectations: options.Expectations = None,
    backend_version: options.BackendVersions = None,
    save: options.SaveFailures = None,
    explain: options.ExplainPermitted = False,
    describe: options.Describe = False,
) -> int:
    """Check your own programs, and name the first operation with a wrong result.

    Exits with 1 if a program fails in a way that no expectation matches.
    """
    from conformance.checking import command

    asked = command.Options(
        files=tuple(files),
        backend=backend,
        inputs=inputs,
        jobs=jobs,
        seed=seed,
        expectations=expectations,
        backend_versions=tuple(backend_version or ()),
        save=save,
        as_json=format is options.LinesFormat.JSON,
        explains=explain,
        limits=limits,
    )
    return command.describe_inputs(asked) if describe else command.check(asked)


app.command()(sweep)
app.command()(fuzz)
app.command()(reduce)
app.command()(serve)
app.command()(bisect)
app.command()(export)
app.add_typer(known_divergences.app, name="expectations")


@app.command()
def ops(
    op: options.OneOp = None,
    format: options.OpsFormatOption = options.OpsFormat.TABLE,  # noqa: A002 - the option's name
) -> int:
    """List the ops, or describe a single op."""
    from conformance import listing
    from conformance.catalog import CATALOG

    if op is not None and op not in CATALOG:
        raise UsageError(describe_unknown("op", op, CATALOG))
    rows = list(CATALOG.values()) if op is None else [CATALOG[op]]
    if format is options.OpsFormat.MARKDOWN:
        if op is not None:
            raise UsageError("--format markdown is a page of all ops: leave out the op")
        sys.stdout.write(listing.coverage_page())
    elif format is options.OpsFormat.JSON:
        more = listing.coverage_entry(rows[0]) if op is not None else {}
        _print_json([listing.op_entry(row) | more for row in rows])
    else:
        Console().print(listing.ops_table() if op is None else listing.op_table(rows[0]))
    return 0


@app.command()
def backends(
    names: options.BackendNames = None,
    self_test: options.SelfTest = False,
    format: options.FormatOption = options.Format.TABLE,  # noqa: A002 - the option's name
) -> int:
    """List the backends and whether each works on this machine.

    Exits with 3 if a given backend does not. A plugin is listed only if its name and library are
    given. With --self-test, exits with 1 if a check fails.
    """
    from conformance import listing

    if self_test:
        if not names:
            raise UsageError("--self-test needs the name of a backend")
        findings = listing.self_test_entries(names)
        if format is options.Format.JSON:
            _print_json(findings)
        else:
            Console().print(listing.self_test_table(findings))
        return 1 if any(finding["problem"] for finding in findings) else 0
    entries = listing.backend_entries(names or ())
    if format is options.Format.JSON:
        _print_json(entries)
    else:
        Console().print(listing.backends_table(entries))
    missing = names and not all(entry["available"] for entry in entries)
    return NOT_AVAILABLE if missing else 0


def _print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=1) + "\n")


options.join_help_lines(app)


def main() -> None:
    """Entry point: run the command line and exit with its code."""
    from conformance.executors import interrupt

    interrupt.install()
    sys.exit(exit_code_of(lambda: app(prog_name=NAME, standalone_mode=False)))


def exit_code_of(command: Callable[[], int | None]) -> int:
    """Return the exit code of a command; print an error as a line on standard error."""
    try:
        code = command() or 0
        if code == INTERRUPTED:  # typer's answer to KeyboardInterrupt
            raise KeyboardInterrupt
        return code
    except KeyboardInterrupt:
        _complain("interrupted; what was done is stored, the same command continues")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = None  # whoever read our output has left, and wants no more of it
        return 0
    except Exception as error:
        if os.environ.get("HLO_CONFORMANCE_DEBUG"):
            raise
        code, line = _explain(error)
        _complain(line)
        return code


def _complain(line: str) -> None:
    sys.stderr.write(f"{NAME}: {' '.join(line.split())}\n")


def _explain(error: Exception) -> tuple[int, str]:
    from conformance.frontends.arguments import InputsError
    from conformance.gate.baselines.text_file import BaselineError
    from conformance.gate.reading import ExpectationError

    if hasattr(error, "format_message"):  # typer's usage errors; its classes moved between versions
        message: str = getattr(error, "format_message")()  # noqa: B009
        message = message.replace(": Value error, ", ": ")  # pydantic's words, by way of typer
        return getattr(error, "exit_code", USAGE), message or "give one of the commands above"
    if isinstance(error, NotAvailable):
        return NOT_AVAILABLE, str(error)
    if isinstance(error, _NothingTestedError):
        return NOTHING_TESTED, str(error)
    ours = (UsageError, BaselineError, ExpectationError, InputsError)
    if isinstance(error, ours):
        return USAGE, str(error)
    return 1, (
        f"internal error, {type(error).__name__}: {error}; "
        "please report it, with what HLO_CONFORMANCE_DEBUG=1 in the environment adds"
    )
