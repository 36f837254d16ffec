"""A run against a baseline, as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from conformance.outputs.fields import Count, about

Kind = Literal["changed", "new", "lost", "fixed", "gained", "changed in error"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something in which the two runs themselves differ, such as a version or the seed."""

    what: Annotated[str, about("What differs.")]
    baseline: Annotated[str, about("Its value in the baseline; empty where it has none.")]
    run: Annotated[str, about("Its value in this run; empty where it has none.")]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A case, or a whole cell, that did not end as in the baseline."""

    change: Annotated[Kind, about("In which way it changed.")]
    op: Annotated[str, about("The op.")]
    element_type: Annotated[str, about("The element type.")]
    backend: Annotated[str, about("The backend, under its name in this run.")]
    index: Annotated[
        int | None, about("The number of the case in its cell; null for a cell as a whole.")
    ]
    before: Annotated[
        str | None, about("How it ended in the baseline; null where the baseline lacks it.")
    ]
    after: Annotated[str, about("How it ended in this run, or `not run`.")]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Changes since a baseline."""

    baseline: Annotated[str, about("The baseline, as it was given.")]
    counts: Annotated[
        dict[Kind, Count], about("How many cases, or whole cells, changed in each way.")
    ]
    compared_cases: Annotated[Count, about("Cases that were compared one by one.")]
    compared_cells: Annotated[
        Count, about("Cells that were compared as wholes, because their cases are others.")
    ]
    not_in_this_run: Annotated[Count, about("Cases of the baseline that this run lacks.")]
    left_out: Annotated[
        Count, about("Cases of the baseline that were not run, as the time of `--budget` was over.")
    ]
    not_in_the_baseline: Annotated[Count, about("Cases of this run that the baseline lacks.")]
    unexplained_as_before: Annotated[
        Count,
        about("Cases that fail as they did in the baseline, and that no expectation matches."),
    ]
    varying: Annotated[
        Count,
        about("Cases that differ from run to run: backend and hlo-conformance are the same."),
    ]
    differences: Annotated[tuple[Difference, ...], about("In what the two runs differ.")]
    changes: Annotated[tuple[Change, ...], about("Everything that changed, the worst kind first.")]
