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
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from conformance import options
from conformance.commands import expectations as known_divergences
from conformance.commands.campaigns import fuzz, reduce
from conformance.commands.reporting import (
    DEFAULT_OUT,
    baseline_app,
    check_folder_of_run,
    print_lines,
    report,
    write_reports,
)
from conformance.commands.schemas import schema
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
from conformance.options import (
    CI,
    NAME,
    Address,
    AtLeast,
    Backend,
    BackendVersions,
    Baseline,
    CIOption,
    EngineName,
    ExecutorName,
    Expectations,
    Format,
    Jobs,
    LinesFormat,
    Ops,
    OpsFormat,
)

if TYPE_CHECKING:  # the whole harness, which `--help` and a worker's start must not wait for
    from conformance.campaign.planning import Options


app = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


Out = Annotated[Path, typer.Option("--out", help="Folder for the results.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]


class _RefusedError(Exception):
    """A request that cannot be met; its text is the line to print."""


@app.callback()
def common_options(version: options.Version = False) -> None:
    """Test how a compiler or device computes StableHLO ops, against a reference."""


@app.command()
@options.with_limits(LIMITS, "Seconds for a batch of cases; a case in isolation has a third.")
def run(
    backend: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{options.BACKEND_HELP} Repeatable.",
            autocompletion=options.complete_backends,
            show_default="cpu",
        ),
    ] = None,
    op: Ops = None,
    element_type: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{options.TYPE_HELP} Repeatable.",
            autocompletion=options.complete_element_types,
            show_default="every type",
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option(help=options.PROFILE_HELP, autocompletion=options.complete_profiles)
    ] = "standard",
    seed: Annotated[int, typer.Option(help="Seed of all cases.")] = 0,
    shard: Annotated[str, typer.Option(help="Test the i-th of n parts, as i/n.")] = "1/1",
    jobs: Jobs = None,
    executor: ExecutorName = EngineName.LOCAL,
    address: Address = None,
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    out: Out = DEFAULT_OUT,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help=f"{options.STRICT_HELP} Refuse expectations without a counterexample, or whose "
            "reason is TODO.",
        ),
    ] = False,
    baseline: Baseline = None,
    at_least: AtLeast = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time for the run, such as 90s or 10m. All cells get their first cases before any "
            "gets its second. The run says what is left out; the same command continues it.",
            show_default="no limit",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            envvar="HLO_CONFORMANCE_CACHE",
            help="Folder of cases that did not fail with the same hlo-conformance, backend and "
            "machine; they are not run again. Cases that do not fail now are added.",
            show_default="none",
        ),
    ] = None,
    no_cache: Annotated[
        bool,
        typer.Option("--no-cache", help="Run all cases, even if HLO_CONFORMANCE_CACHE is set."),
    ] = False,
    ci: CIOption = CI.AUTO,
    limits: Limits = LIMITS,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            help="Times to rerun a case that fails; backends that only compile rerun once. A case "
            "that passes then is not deterministic. It fails the run unless an expectation with "
            "flaky = true matches it.",
        ),
    ] = 3,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete the results that --out holds, and start over.")
    ] = False,
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
            shard=_parts(shard),
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


def _parts(shard: str) -> tuple[int, int]:
    part, slash, parts = shard.partition("/")
    if not (slash and part.isdecimal() and parts.isdecimal()):
        raise _RefusedError(f"--shard takes i/n, such as 1/4, not {shard!r}")
    return int(part), int(parts)


def _run(ci: CI, options: Options) -> int:
    from conformance.campaign import runner
    from conformance.campaign.planning import plan
    from conformance.campaign.progress import watcher
    from conformance.gate.baselines.comparison import compare
    from conformance.gate.conclusion import closing_lines
    from conformance.results.lines import lines_of

    if not plan(options).cells:
        if options.shard[1] > 1 and plan(replace(options, shard=(1, 1))).cells:
            part = "/".join(map(str, options.shard))
            raise _NothingTestedError(
                f"shard {part} has no cell, as there are too few for so many parts: nothing was "
                "tested; merge the others without it"
            )
        raise _NothingTestedError("no op has a cell of that element type: nothing was tested")
    check_folder_of_run(options.out)
    data = runner.run(options, watcher(Console(stderr=True)))
    where = "" if options.out == DEFAULT_OUT else f" --db {shlex.quote(str(options.out))}"
    replaying = f"{NAME} replay {{}}{where}"
    comparison = None if options.baseline is None else compare(data, options.baseline)
    annotations = write_reports(data, options.out, comparison, ci)
    print_lines(
        [
            *lines_of(data, replaying, is_compared=comparison is not None),
            *closing_lines(data, comparison, options.at_least, replaying),
            f"report: {options.out / 'index.html'}",
            *annotations,
        ]
    )
    if data.exit_code == NOTHING_TESTED:
        raise _NothingTestedError("the backend supports none of these cases: nothing was tested")
    return data.exit_code or 0


class _NothingTestedError(_RefusedError):
    """Nothing was tested: exit code 4."""


app.command()(report)
app.command()(schema)
app.add_typer(baseline_app, name="baseline")


@app.command()
@options.with_limits(LIMITS, "Seconds for the case.")
def replay(
    id: Annotated[  # noqa: A002
        str,
        typer.Argument(
            metavar="ID|FOLDER",
            help="A case, such as add-f32-cpu-3, or the folder of a finding of `fuzz`.",
        ),
    ],
    db: Annotated[
        Path, typer.Option(help="The folder of the run, or its results.sqlite.")
    ] = DEFAULT_OUT,
    limits: Limits = LIMITS,
    generic: Annotated[
        bool, typer.Option("--generic", help="Show the program in MLIR's generic form.")
    ] = False,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            help="Backend to run it on. Repeatable.",
            autocompletion=options.complete_backends,
            show_default="the one it was recorded on",
        ),
    ] = None,
) -> int:
    """Replay a recorded case: print its program, inputs, results, and the verdict then and now.

    Given the folder of a finding of `fuzz` or `reduce`, list the backends on which the finding
    reproduces. Exits with 1 if the case still fails on any backend.
    """
    from conformance.campaign import replay as replaying

    if Path(id).is_dir():
        from conformance.fuzzing.keeping import replay as findings

        kept = findings.read_finding(Path(id))
        rows = findings.replay(kept, backend or (), limits)
        print_lines(findings.lines(kept, rows))
        return findings.exit_code(rows)
    if len(Path(id).parts) > 1:
        raise _RefusedError(
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
@options.with_limits(FILE_LIMITS, "Seconds for each file, at most half of them to find causes.")
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="StableHLO modules: text, bytecode, or what jax.export writes."
        ),
    ],
    backend: Backend = "cpu",
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="Inputs of the programs: an .npz of arrays arr_0, arr_1, ..., or by name.",
            show_default="drawn by what each program does with them",
        ),
    ] = None,
    format: Annotated[LinesFormat, typer.Option("--format", help="How to print.")] = (  # noqa: A002
        LinesFormat.TEXT
    ),
    jobs: Jobs = None,
    limits: Limits = FILE_LIMITS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the inputs that are drawn.")] = 0,
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Folder to keep each failing program in, with its inputs and results.",
            show_default="nothing is kept",
        ),
    ] = None,
    describe: Annotated[
        bool,
        typer.Option(
            "--describe", help="Print the parameters of the programs and a template for --inputs."
        ),
    ] = False,
) -> int:
    """Check your own programs, and name the first operation with a wrong result.

    Exits with 1 if a program fails in a way that no expectation matches.
    """
    from conformance.check import command

    asked = command.Options(
        files=tuple(files),
        backend=backend,
        inputs=inputs,
        jobs=jobs,
        seed=seed,
        expectations=expectations,
        backend_versions=tuple(backend_version or ()),
        save=save,
        as_json=format is LinesFormat.JSON,
        limits=limits,
    )
    return command.describe_inputs(asked) if describe else command.check(asked)


app.command()(sweep)
app.command()(fuzz)
app.command()(reduce)
app.add_typer(known_divergences.app, name="expectations")


@app.command()
def ops(
    op: Annotated[
        str | None,
        typer.Argument(metavar="[OP]", help="An op to show.", autocompletion=options.complete_ops),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        OpsFormat,
        typer.Option("--format", help="How to print; markdown is the page of all that is covered."),
    ] = OpsFormat.TABLE,
) -> int:
    """List the ops, or describe a single op."""
    from conformance import listing
    from conformance.catalog import CATALOG

    if op is not None and op not in CATALOG:
        raise _RefusedError(describe_unknown("op", op, CATALOG))
    rows = list(CATALOG.values()) if op is None else [CATALOG[op]]
    if format is OpsFormat.MARKDOWN:
        if op is not None:
            raise _RefusedError("--format markdown is a page of all ops: leave out the op")
        sys.stdout.write(listing.coverage_page())
    elif format is OpsFormat.JSON:
        more = listing.coverage_entry(rows[0]) if op is not None else {}
        _print_json([listing.op_entry(row) | more for row in rows])
    else:
        Console().print(listing.ops_table() if op is None else listing.op_table(rows[0]))
    return 0


@app.command()
def backends(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BACKEND]...", help="Backends to show, such as plugin:NAME=PATH."),
    ] = None,
    format: FormatOption = Format.TABLE,  # noqa: A002 - the option's name
) -> int:
    """List the backends and whether each works on this machine.

    Exits with 3 if a given backend does not. A plugin is listed only if its name and library are
    given.
    """
    from conformance import listing

    entries = listing.backend_entries(names or ())
    if format is Format.JSON:
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
    ours = (_RefusedError, UsageError, BaselineError, ExpectationError, InputsError)
    if isinstance(error, ours):
        return USAGE, str(error)
    return 1, (
        f"internal error, {type(error).__name__}: {error}; "
        "please report it, with what HLO_CONFORMANCE_DEBUG=1 in the environment adds"
    )
