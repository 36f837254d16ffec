"""Several runs of the same backends over time, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.fields import State, about
from conformance.outputs.run import Backend, Shares

Outcome = Literal["conforms", "known", "new", "unsupported", "untested"]
"""The outcome of a cell: the name of the field of `Shares` that counts it."""


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a history of several runs."""

    path: Annotated[str, about("Its folder or database, as it was given.")]
    started: Annotated[str, about("When it began: UTC, in ISO 8601.")]
    profile: Annotated[str, about("Its profile: smoke, standard or deep.")]
    seed: Annotated[int, about("The seed of its cases.")]
    build: Annotated[str, about("The digest of hlo-conformance's own sources; empty if unknown.")]
    versions: Annotated[dict[str, str], about("Versions on which its results depend, by package.")]
    backends: Annotated[tuple[Backend, ...], about("Its backends, in the order given.")]
    shares: Annotated[tuple[Shares, ...], about("The planned cells of each backend by outcome.")]
    exit_code: Annotated[int | None, about("Its exit code; null for a run that has not ended.")]


class PastCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell in all runs; both lists have one item per run, in the order of the runs."""

    op: Annotated[str, about("The op.")]
    element_type: Annotated[str, about("The element type.")]
    backend: Annotated[str, about("The backend.")]
    verdicts: Annotated[
        tuple[State | None, ...],
        about("The worst verdict of the cell; null where the run was not to test it."),
    ]
    outcomes: Annotated[
        tuple[Outcome | None, ...],
        about("In which count of the shares the cell is; null where the run was not to test it."),
    ]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """Runs at several dates or versions."""

    runs: Annotated[tuple[PastRun, ...], about("The runs, the oldest first.")]
    cells: Annotated[
        tuple[PastCell, ...],
        about(
            "Cells that did not end alike in all runs, or that a run was not to test. All others "
            "ended in every run as `cells` of the report says."
        ),
    ]
