"""The parts of the results of a run, as JSON."""

from __future__ import annotations

from typing import Annotated

import msgspec

from conformance.outputs.fields import Count, State, about
from conformance.verdict import Verdict


class KnownElements(msgspec.Struct, frozen=True, kw_only=True):
    """Elements that fail and that expectations match."""

    count: Annotated[Count, about("The number of these elements.")]
    predicted: Annotated[
        Count, about("How many of them are within 2 ulp of what their expectation predicts.")
    ]
    unpredictable: Annotated[
        Count,
        about("How many of the others an expectation with `unpredictable` matches."),
    ]
    predicted_percent: Annotated[
        float | None,
        about(
            "The predicted share in per cent of those that are not `unpredictable`, rounded down "
            "to a tenth; null where there are none."
        ),
    ]


class Denominators(msgspec.Struct, frozen=True, kw_only=True):
    """The tested share of the catalog."""

    ops: Annotated[Count, about("Ops of the catalog.")]
    ops_tested: Annotated[Count, about("Ops with at least one tested cell.")]
    cells: Annotated[Count, about("Cells of the catalog, on all backends of the run.")]
    cells_planned: Annotated[Count, about("Cells that the run was to test.")]
    cells_tested: Annotated[
        Count, about("Planned cells that are neither untested, unsupported nor not judged.")
    ]
    cells_untested: Annotated[Count, about("Planned cells that were not reached.")]
    cells_not_judged: Annotated[Count, about("Planned cells that hlo-conformance cannot judge.")]
    cells_unsupported: Annotated[
        Count, about("Planned cells that the backend says it does not implement.")
    ]
    cells_filtered_out: Annotated[
        Count, about("Cells that the options `--op`, `--element-type` or `--shard` left out.")
    ]


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """The planned cells of a backend, each counted once: the five counts add up to `planned`."""

    backend: Annotated[str, about("The backend.")]
    planned: Annotated[Count, about("Cells that the run was to test.")]
    conforms: Annotated[Count, about("Cells in which no case fails.")]
    known: Annotated[Count, about("Cells in which cases fail, all matched by expectations.")]
    new: Annotated[Count, about("Cells in which a case fails that no expectation matches.")]
    unsupported: Annotated[Count, about("Cells that the backend says it does not implement.")]
    untested: Annotated[Count, about("Cells that were not reached, or not judged.")]
    conforms_percent: Annotated[
        float | None,
        about("`conforms` in per cent of `planned`, rounded down to a tenth; null without cells."),
    ]


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """The covered share of the dimensions of variation."""

    values: Annotated[Count, about("Values of dimensions of variation that cases have.")]
    declared_values: Annotated[Count, about("All such values.")]
    out_of_reach: Annotated[
        Count, about("Values among these that are not valid where they were tried.")
    ]
    pairs: Annotated[Count, about("Pairs of such values that cases have.")]
    declared_pairs: Annotated[Count, about("All such pairs.")]
    missing: Annotated[
        tuple[str, ...], about("Some values and pairs that no case has, for single ops.")
    ]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of the cases: in total, by dialect and by op."""

    whole: Annotated[Reached, about("All ops together.")]
    dialects: Annotated[dict[str, Reached], about("By dialect: StableHLO, XlaBuilder.")]
    ops: Annotated[dict[str, Reached], about("By op.")]


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """An op with an element type on a backend that the run was to test."""

    op: Annotated[str, about("The op.")]
    element_type: Annotated[
        str, about("The element type; `invalid` for programs that break one constraint each.")
    ]
    backend: Annotated[str, about("The backend.")]
    verdict: Annotated[
        State, about("The worst verdict of its cases, leaving out those that are unsupported.")
    ]
    cases: Annotated[Count, about("Cases that were run.")]
    pairs: Annotated[Count, about("Input sets that were judged.")]
    values: Annotated[Count, about("Elements of results that were judged.")]
    unsupported: Annotated[Count, about("Cases that the backend says it does not implement.")]
    worst_ulp: Annotated[
        float | None,
        about(
            "The largest finite error of a permitted or inaccurate element, in the unit of the "
            "op's rule: ulp, or parts of the error bound. Null where the op has no such error."
        ),
    ]
    budget_ulp: Annotated[
        float | None, about("The largest error that the op's rule permits, in the same unit.")
    ]
    known: Annotated[Count, about("Cases that fail and that expectations match.")]
    new_failures: Annotated[Count, about("Cases that fail and that no expectation matches.")]
    from_cache: Annotated[Count, about("Cases that were taken from `--cache`.")]
    left_out: Annotated[Count, about("Cases at most that the time of `--budget` ended before.")]
    seconds: Annotated[float, about("Time spent on its cases in seconds, all workers together.")]


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """A case that fails."""

    id: Annotated[str, about("What `hlo-conformance replay` takes.")]
    op: Annotated[str, about("The op.")]
    element_type: Annotated[str, about("The element type.")]
    backend: Annotated[str, about("The backend.")]
    index: Annotated[Count, about("The number of the case in its cell.")]
    verdict: Annotated[Verdict, about("Its verdict.")]
    class_: Annotated[str, about("The class of the divergence; empty where there is none.")] = (
        msgspec.field(name="class")
    )
    message: Annotated[str, about("What goes wrong, on one line.")]
    is_new: Annotated[bool, about("Whether no expectation matches it, so that it fails the run.")]
    known: Annotated[
        tuple[str, ...], about("The ids of all expectations that match part of the failure.")
    ]
    failed_runs: Annotated[
        Count | None, about("In how many runs it failed; null where it fails every time.")
    ]
    runs: Annotated[Count | None, about("Of how many runs; null where it fails every time.")]
    wrong: Annotated[
        Count | None, about("How many elements are wrong; null where there are no results.")
    ]
    total: Annotated[Count | None, about("Of how many elements, on the inputs that are kept.")]


class LostBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that failed as a batch although none failed in isolation."""

    backend: Annotated[str, about("The backend.")]
    cells: Annotated[str, about("The ops with their element types.")]
    cases: Annotated[Count, about("How many cases there are.")]
    verdict: Annotated[Verdict, about("How the batch ended.")]
    class_: Annotated[str, about("The class of that; empty where there is none.")] = msgspec.field(
        name="class"
    )
    message: Annotated[str, about("What the backend said.")]
    failed_runs: Annotated[Count, about("In how many runs the batch failed.")]
    runs: Annotated[Count, about("Of how many runs.")]
    known: Annotated[str, about("The id of the expectation that matches it; empty where none.")]


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of a cell that the time of `--budget` was not enough for."""

    op: Annotated[str, about("The op.")]
    element_type: Annotated[str, about("The element type.")]
    backend: Annotated[str, about("The backend.")]
    cases: Annotated[Count, about("How many cases were left out.")]


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """An expectation that applied to a cell of the run."""

    reason: Annotated[str, about("Why the backend diverges.")]
    link: Annotated[str, about("Where that is discussed; empty where nowhere.")]
    unpredictable: Annotated[
        bool, about("Whether it matches elements whose values nothing predicts.")
    ]
    flaky: Annotated[bool, about("Whether it matches cases that do not fail every time.")]


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """A backend and its versions."""

    name: Annotated[str, about("Its name in this run, without the path of a plugin.")]
    platform: Annotated[str, about("Its platform, such as cpu or cuda.")]
    device: Annotated[str, about("The device.")]
    versions: Annotated[dict[str, str], about("Its versions, by what they are of.")]


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of work by part, summed over all worker processes."""

    generation: Annotated[float, about("Generating cases, in seconds.")]
    reference: Annotated[float, about("Evaluating them in the reference, in seconds.")]
    emission: Annotated[float, about("Writing programs as text, in seconds.")]
    compilation: Annotated[float, about("Compiling them on the backend, in seconds.")]
    execution: Annotated[float, about("Running them on the backend, in seconds.")]
    comparison: Annotated[float, about("Judging results, in seconds.")]
    storage: Annotated[float, about("Writing the database, in seconds.")]
