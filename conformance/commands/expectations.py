"""The command `expectations`: what is known of a backend, and what still shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from conformance.options import BackendVersions, Expectations, LinesFormat

app = typer.Typer(
    help="Known divergences: list them, or see whether a backend still shows them.",
    no_args_is_help=True,
)

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which. [default: all]")]
LinesOption = Annotated[LinesFormat, typer.Option("--format", help="How to print.")]


@app.command("list")
def list_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="Whose divergences.")] = "cpu",
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
) -> int:
    """List what is known of a backend, in the versions that are installed here."""
    from conformance.check import expectations as known

    for one in known.chosen(expectations, backend, ids or (), backend_version or ()):
        as_json = format is LinesFormat.JSON
        sys.stdout.write((json.dumps(known.entry(one)) if as_json else known.as_text(one)) + "\n")
    return 0


@app.command("check")
def check_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="The backend to run them on.")] = "cpu",
    expectations: Expectations = None,
    backend_version: BackendVersions = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: one per core]")
    ] = None,
    db: Annotated[
        Path | None, typer.Option(help="A run, of which to say what each expectation explains.")
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse entries without a counterexample, or whose reason is TODO."
        ),
    ] = False,
) -> int:
    """Replay the counterexamples: which show, which are fixed; exits with 1 where one is not shown.

    Says of your own entries, too, which know what an earlier entry knows.
    """
    from conformance.check import expectations as known

    every = known.chosen(expectations, backend, (), backend_version or ())
    found = known.picked(every, backend, ids or ())
    if strict:
        known.check_finished(expectations, backend, found)
    return known.check(
        found,
        backend,
        as_json=format is LinesFormat.JSON,
        jobs=jobs or 0,
        db=db,
        clashing=known.clashing(expectations, backend, every),
    )
