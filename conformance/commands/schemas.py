"""The command `schema`: the JSON Schemas of the outputs of other commands."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from conformance.errors import UsageError, describe_unknown

NAMES = ("report", "check", "sweep", "campaign", "finding", "verdict")
"""The names of the outputs, as in conformance.outputs.schema, without loading that module."""


class SchemaFormat(StrEnum):
    """The form in which a schema is printed."""

    JSON = "json"
    MARKDOWN = "markdown"


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help=f"The output: {', '.join(NAMES)}. Without it, all are listed.",
            autocompletion=_complete_name,
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        SchemaFormat,
        typer.Option("--format", help="How to print; markdown is the page on all outputs."),
    ] = SchemaFormat.JSON,
) -> int:
    """Print the JSON Schema of an output, such as the output of `report --format json`."""
    from conformance.outputs.page import schema_page
    from conformance.outputs.schema import OUTPUTS, schema_text

    if format is SchemaFormat.MARKDOWN:
        if name is not None:
            raise UsageError("--format markdown is a page of all outputs: leave out the name")
        sys.stdout.write(schema_page())
    elif name is None:
        width = max(map(len, OUTPUTS))
        for one in OUTPUTS.values():
            sys.stdout.write(f"{one.line(width)}\n")
    elif name not in OUTPUTS:
        raise UsageError(describe_unknown("output", name, OUTPUTS))
    else:
        sys.stdout.write(schema_text(OUTPUTS[name]))
    return 0
