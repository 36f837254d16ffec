"""The command `expectations`: what is known of a backend, and what still shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from conformance.options import LinesFormat

app = typer.Typer(
    help="Known divergences: list them, or see whether a backend still shows them.",
    no_args_is_help=True,
)

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Which. [default: all]")]
ExpectationsOption = Annotated[
    str | None, typer.Option("--expectations", help="A file or folder; else the shipped ones.")
]
LinesOption = Annotated[LinesFormat, typer.Option("--format", help="How to print.")]


@app.command("list")
def list_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="Whose divergences.")] = "cpu",
    expectations: ExpectationsOption = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
) -> int:
    """List what is known of a backend, in the versions that are installed here."""
    from conformance.check import expectations as known

    for one in known.chosen(expectations, backend, ids or ()):
        as_json = format is LinesFormat.JSON
        sys.stdout.write((json.dumps(known.entry(one)) if as_json else known.as_text(one)) + "\n")
    return 0


@app.command("check")
def check_expectations(
    ids: Ids = None,
    backend: Annotated[str, typer.Option(help="The backend to run them on.")] = "cpu",
    expectations: ExpectationsOption = None,
    format: LinesOption = LinesFormat.TEXT,  # noqa: A002 - the option's name
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Worker processes. [default: one per core]")
    ] = None,
    db: Annotated[
        Path | None, typer.Option(help="A run, of which to say what each expectation explains.")
    ] = None,
) -> int:
    """Replay the counterexamples; exits with 1 when one does not reproduce any more."""
    from conformance.check import expectations as known

    found, as_json = known.chosen(expectations, backend, ids or ()), format is LinesFormat.JSON
    return known.check(found, backend, as_json=as_json, jobs=jobs or 0, db=db)
