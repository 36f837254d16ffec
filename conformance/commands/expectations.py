"""The command `expectations`: known divergences of a backend, and which still reproduce."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from conformance.options import (
    EXPECTATIONS_HELP,
    BackendVersions,
    Expectations,
    LinesFormat,
)

app = typer.Typer(
    help="List known divergences, replay their counterexamples, and write expectation files.",
    no_args_is_help=True,
)

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of entries. [default: all]")
]
LinesOption = Annotated[LinesFormat, typer.Option("--format", help="Output format.")]


@app.command("list")
def list_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="Backend whose divergences to list.")] = "cpu",
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
) -> int:
    """List the known divergences of a backend, for the versions installed here."""
    from conformance.checking import expectations as known

    found = known.select_expectations(expectations, backend, ids or (), backend_version or ())
    known.warn_about_other_backends(expectations, backend)
    for one in found:
        as_json = format is LinesFormat.JSON
        sys.stdout.write(
            (json.dumps(known.expectation_json(one)) if as_json else known.expectation_line(one))
            + "\n"
        )
    return 0


@app.command("check")
def check_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="Backend to replay the counterexamples on.")] = "cpu",
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: one per core]")
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(help="A run: count the elements in it that each expectation explains."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse entries without a counterexample, or whose reason is TODO."
        ),
    ] = False,
) -> int:
    """Replay the counterexamples, and exit with 1 if any does not reproduce.

    Reports entries whose bug is fixed, and your entries that an earlier entry shadows.
    """
    from conformance.checking import expectations as known

    every = known.select_expectations(expectations, backend, (), backend_version or ())
    known.warn_about_other_backends(expectations, backend)
    found = known.select_by_id(every, backend, ids or ())
    if strict:
        known.check_finished(expectations, backend, found)
    return known.check(
        found,
        backend,
        as_json=format is LinesFormat.JSON,
        jobs=jobs or 0,
        db=db,
        clashing=known.find_shadowed(expectations, backend, every),
    )


@app.command("update")
def update_expectations(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[Path, typer.Option("--out", help="The file to add entries to, or to make.")],
    backend: Annotated[
        list[str] | None,
        typer.Option(
            help="Write entries for this backend only. Repeatable.", show_default="all of the run"
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Seconds to minimise each counterexample.")
    ] = 10.0,
    runs: Annotated[
        int,
        typer.Option(
            min=1, help="Run all cases until there are this many runs; flaky if these differ."
        ),
    ] = 1,
    reason: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=TEXT",
            help="The reason of entries with a class or verdict, or a glob of these. Repeatable.",
        ),
    ] = None,
) -> int:
    """Write an entry for each cause of new divergences in a run, with a minimised counterexample.

    Adds entries to the file and keeps its content. Entries have the reason TODO, which
    `run --strict` refuses, until `--reason` gives one. Exits with 1 if no entry can match a new
    divergence.
    """
    from conformance.updating import command

    given = (tuple(backend or ()), seconds, runs, tuple(reason or ()))
    return command.update(command.Options(run, out, *given))


@app.command("why")
def explain_case(
    case: Annotated[
        str,
        typer.Argument(
            metavar="CASE|FOLDER",
            help="A case, such as add-f32-cpu-3, or the folder of a failure that `check --save`, "
            "`fuzz` or `reduce` wrote.",
        ),
    ],
    db: Annotated[Path, typer.Option(help="The folder of the run, or its results.sqlite.")] = Path(
        "hlo-conformance-results"
    ),
    expectations: Annotated[
        list[str] | None,
        typer.Option(
            "--expectations", help=EXPECTATIONS_HELP, show_default="what the run was given"
        ),
    ] = None,
) -> int:
    """Explain which entry matches a failing case, or why none does.

    For each entry with its op and element type, print the first condition that does not hold.
    Exits with 1 if a failure is new.
    """
    from conformance.updating import why

    given = tuple(expectations) if expectations else None
    if Path(case).is_dir():
        return why.explain_saved(Path(case), given)
    return why.explain(case, db, given)


@app.command("fmt")
def format_expectations(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Expectation files.")],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 where a file would change.")
    ] = False,
) -> int:
    """Format expectation files: order the keys, unify the values, keep the comments."""
    from conformance.checking import expectations as formatting

    return formatting.format_files(files, check_only=check)
