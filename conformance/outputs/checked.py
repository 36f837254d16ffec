"""The verdict of `check` on a file, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.fields import Version, about
from conformance.verdict import Verdict


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a file: `check --format json` prints one object on a line for each file."""

    schema: Annotated[Literal["check"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    file: Annotated[str, about("The file, as it was given.")]
    verdict: Annotated[Verdict, about("The worst verdict of the programs in the file.")]
    class_: Annotated[
        str, about("The class of the divergence; empty where the verdict has none, as for a pass.")
    ] = msgspec.field(name="class")
    operation: Annotated[
        str, about("The first operation that goes wrong; empty where none can be named.")
    ]
    message: Annotated[str, about("What goes wrong, on one line; empty for a pass.")]
    known: Annotated[
        tuple[str, ...],
        about(
            "The ids of the expectations that match the divergence. It fails nothing where "
            "there are any."
        ),
    ]
    notes: Annotated[
        tuple[str, ...],
        about(
            "Remarks on a program that passes, such as an operation over its own accuracy budget."
        ),
    ]
