"""The results of a run, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.comparison import Comparison
from conformance.outputs.fields import Count, Version, about
from conformance.outputs.finding import Cause
from conformance.outputs.history import History
from conformance.outputs.run import (
    Backend,
    Cell,
    Coverage,
    Denominators,
    Divergence,
    Expectation,
    KnownElements,
    LeftOut,
    LostBatch,
    Shares,
    Timing,
)
from conformance.outputs.sweep import Sweep
from conformance.verdict import Verdict


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run: `summary.json`, and what `report --format json` prints."""

    schema: Annotated[Literal["report"], about("The name of this schema.")]
    schema_version: Annotated[Version, about("Its version: MAJOR.MINOR.")]
    cases: Annotated[Count, about("Programs that were run.")]
    pairs: Annotated[Count, about("Input sets that were judged.")]
    values: Annotated[Count, about("Elements of results that were judged.")]
    modules: Annotated[Count, about("Modules that were compiled.")]
    seconds: Annotated[
        float, about("Wall time of the run in seconds, all sessions of a resumed run together.")
    ]
    verdicts: Annotated[dict[Verdict, Count], about("Cases by verdict.")]
    known: Annotated[Count, about("Cases that fail and that expectations match.")]
    unpredictable: Annotated[
        Count, about("Cases among these with elements whose values nothing predicts.")
    ]
    flaky: Annotated[
        Count, about("Cases among the known that an expectation with `flaky` matches.")
    ]
    value_not_predicted: Annotated[
        Count,
        about(
            "Cases with elements that an expectation matches without their values, and that are "
            "not as in the baseline."
        ),
    ]
    not_deterministic: Annotated[Count, about("Cases that did not fail every time.")]
    new_failures: Annotated[Count, about("Cases that fail and that no expectation matches.")]
    known_elements: Annotated[
        KnownElements, about("The elements that fail and that expectations match.")
    ]
    denominators: Annotated[Denominators, about("What was tested, out of what there is.")]
    shares: Annotated[tuple[Shares, ...], about("The planned cells of each backend by outcome.")]
    coverage: Annotated[Coverage, about("What the cases reach of what they can vary.")]
    cells: Annotated[tuple[Cell, ...], about("Every planned cell, in the order of the catalog.")]
    divergences: Annotated[
        tuple[Divergence, ...], about("Every case that fails, known or new, in the same order.")
    ]
    expectations: Annotated[
        dict[str, Expectation], about("The expectations that applied to a cell, by id.")
    ]
    stale_expectations: Annotated[
        tuple[str, ...],
        about("Ids of expectations that matched nothing and whose counterexample is gone."),
    ]
    fixed_expectations: Annotated[
        tuple[str, ...], about("Ids among these whose counterexample passes now.")
    ]
    incidents: Annotated[tuple[str, ...], about("Events that belong to no case, one line each.")]
    lost_batches: Annotated[
        tuple[LostBatch, ...],
        about("Batches that failed though none of their cases failed in isolation."),
    ]
    left_out: Annotated[
        tuple[LeftOut, ...], about("Cells with cases that the time of `--budget` ended before.")
    ]
    from_cache: Annotated[
        Count,
        about("Cases that passed or failed as known in an earlier run, taken from `--cache`."),
    ]
    build: Annotated[str, about("The digest of hlo-conformance's own sources; empty if unknown.")]
    versions: Annotated[dict[str, str], about("Versions on which results depend, by package.")]
    backends: Annotated[tuple[Backend, ...], about("The backends, in the order given.")]
    seed: Annotated[int, about("The seed of all cases.")]
    profile: Annotated[str, about("The profile: smoke, standard or deep.")]
    filters: Annotated[
        dict[str, list[str] | str | None],
        about("Options that left cells out: `op` and `element_type` are lists, `shard` is i/n."),
    ]
    started: Annotated[str, about("When the run began: UTC, in ISO 8601.")]
    command: Annotated[str, about("The command line.")]
    peak_rss_mb: Annotated[
        dict[str, float], about("Peak memory in MB: of the `parent`, and of the largest `worker`.")
    ]
    timing: Annotated[Timing, about("Where the time went.")]
    exit_code: Annotated[
        int | None, about("The exit code of the run; null for a run that has not ended.")
    ]
    comparison: Annotated[
        Comparison | None, about("What changed since the baseline; null without `--baseline`.")
    ]
    history: Annotated[
        History | None, about("This run among earlier runs; null without `--history`.")
    ]
    findings: Annotated[
        tuple[Cause, ...] | None,
        about("Findings of campaigns by cause, the most frequent first, or null: `--findings`."),
    ]
    sweeps: Annotated[
        tuple[Sweep, ...] | None,
        about("Sweeps that `report` was given beside the run; null where there was none."),
    ]
