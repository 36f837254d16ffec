"""The parts of a run's report as JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from conformance.backends.base import Description
from conformance.outputs.run import (
    Backend,
    Cell,
    Denominators,
    Divergence,
    LeftOut,
    LostBatch,
    Reached,
)
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.left_out import LeftOut as Remaining
from conformance.text import one_line
from conformance.verdict import LostBatch as Batch
from conformance.verdict import Record, Verdict
from generators.cells.coverage_report import CoverageReport as Measured


def denominators(cells: Sequence[CellResults]) -> Denominators:
    """Return the number of ops, and the numbers of cells by state."""
    states = Counter(cell.state for cell in cells)
    tested = [cell for cell in cells if cell.is_tested]
    return Denominators(
        ops=len({cell.op for cell in cells}),
        ops_tested=len({cell.op for cell in tested}),
        cells=len(cells),
        cells_planned=len(cells) - states[FILTERED],
        cells_tested=len(tested),
        cells_untested=states[UNTESTED],
        cells_not_judged=states[Verdict.NOT_JUDGED.value],
        cells_unsupported=states[Verdict.UNSUPPORTED.value],
        cells_filtered_out=states[FILTERED],
    )


def backend_of(described: Description) -> Backend:
    """Return the JSON object of a backend."""
    return Backend(
        name=described.name,
        platform=described.platform,
        device=described.device,
        versions=dict(described.versions),
    )


def reached_of(measured: Measured) -> Reached:
    """Return the JSON object of the coverage of cases."""
    counts = asdict(measured)
    del counts["dimensions"]  # the page shows them
    return Reached(**counts)


def cell_of(cell: CellResults, *, from_cache: int, left_out: int, seconds: float) -> Cell:
    """Return the JSON object of a planned cell.

    `from_cache` counts its cases that were taken from a cache, `left_out` those that the time of
    the run ended before. `seconds` is the time spent on the others.
    """
    return Cell(
        op=cell.op,
        element_type=cell.element_type,
        backend=cell.backend,
        verdict=cell.state,  # pyright: ignore[reportArgumentType] - no cell that is filtered out
        cases=len(cell.records),
        pairs=cell.pairs,
        values=cell.values,
        unsupported=cell.verdicts[Verdict.UNSUPPORTED],
        worst_ulp=_largest_error(record.worst_ulp for record in cell.records),
        budget_ulp=_largest_error(record.budget_ulp for record in cell.records),
        known=cell.known,
        new_failures=cell.new,
        from_cache=from_cache,
        left_out=left_out,
        seconds=round(seconds, 3),
    )


def _largest_error(errors: Iterable[float | None]) -> float | None:
    # an error that is not finite has no place in JSON, nor among distances
    return max((e for e in errors if e is not None and math.isfinite(e)), default=None)


def divergence_of(record: Record) -> Divergence:
    """Return the JSON object of a failing case."""
    detail = record.detail if record.verdict.has_results else None
    return Divergence(
        id=record.id,
        op=record.op,
        element_type=record.element_type,
        backend=record.backend,
        index=record.index,
        verdict=record.verdict,
        class_=record.kind,
        message=one_line(record.message),
        is_new=record.is_new_failure,
        known=record.expectation_ids,
        failed_runs=record.repeats.failed if record.repeats else None,
        runs=record.repeats.runs if record.repeats else None,
        wrong=detail.wrong if detail else None,
        total=detail.total if detail else None,
    )


def batch_of(batch: Batch) -> LostBatch:
    """Return the JSON object of a batch that failed as a whole."""
    return LostBatch(
        backend=batch.backend,
        cells=batch.name,
        cases=len(batch.cases),
        verdict=batch.verdict,
        class_=batch.kind,
        message=one_line(batch.message),
        failed_runs=batch.failed,
        runs=batch.runs,
        known=batch.known,
    )


def left_out_of(remaining: Remaining) -> LeftOut:
    """Return the JSON object of a cell's cases that the budget left out."""
    return LeftOut(
        op=remaining.op,
        element_type=remaining.element_type,
        backend=remaining.backend,
        cases=remaining.cases,
    )
