"""Findings of fuzzing campaigns, as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec

from conformance.outputs.fields import Count, about
from conformance.verdict import Verdict


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A minimised program that fails: a folder of its own in a campaign's findings."""

    name: Annotated[str, about("The name of its folder.")]
    folder: Annotated[
        str, about("The folder. It has program.mlir, inputs.npz, reproduce.py and issue.md.")
    ]
    backend: Annotated[str, about("The backend that it fails on.")]
    verdict: Annotated[Verdict, about("Its verdict.")]
    class_: Annotated[str, about("The class of the divergence; empty where there is none.")] = (
        msgspec.field(name="class")
    )
    culprit: Annotated[str, about("The operation that goes wrong; empty where none is named.")]
    element_types: Annotated[tuple[str, ...], about("The element types it was found in.")]
    message: Annotated[str, about("What goes wrong, on one line.")]
    programs: Annotated[Count, about("How many programs of the campaign failed in this way.")]
    first_found: Annotated[str, about("When it was first found: UTC, in ISO 8601; or empty.")]
    last_found: Annotated[str, about("When it was last found: UTC, in ISO 8601; or empty.")]
    versions: Annotated[dict[str, str], about("Versions of packages and of the backend, by name.")]
    vanishes: Annotated[
        tuple[str, ...], about("Changes of the compilation with which the result is right.")
    ]
    program: Annotated[str, about("The program, as StableHLO text.")]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Findings that have one cause."""

    cause: Annotated[str, about("What they have in common.")]
    programs: Annotated[Count, about("How many programs failed in this way, in all campaigns.")]
    first_found: Annotated[str, about("When the first was found: UTC, in ISO 8601; or empty.")]
    last_found: Annotated[str, about("When the last was found: UTC, in ISO 8601; or empty.")]
    findings: Annotated[tuple[Finding, ...], about("The findings, the most frequent first.")]
