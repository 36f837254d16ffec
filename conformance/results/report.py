"""A run as JSON: `summary.json`, and what `report --format json` prints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from conformance.backends.base import Description
from conformance.outputs.report import (
    Backend,
    Cell,
    Coverage,
    Denominators,
    Divergence,
    Expectation,
    KnownElements,
    Reached,
    Report,
    Timing,
)
from conformance.outputs.schema import REPORT
from conformance.results.cells import FILTERED, UNTESTED, CellResults
from conformance.results.shares import shares_of
from conformance.verdict import Record, Verdict
from generators.cells.coverage import Reached as Measured

if TYPE_CHECKING:  # a run has its report among its properties
    from conformance.results.summary import RunData


def report_of(run: RunData) -> Report:
    """Return all that JSON says of a run alone: what it is compared with is added to it."""
    cells = [*run.cells.values()]
    planned = [cell for cell in cells if cell.state != FILTERED]
    verdicts = sum((cell.verdicts for cell in cells), Counter[Verdict]())
    known = run.known_elements
    return Report(
        schema="report",
        schema_version=REPORT.version,
        cases=len(run.records),
        pairs=sum(cell.pairs for cell in cells),
        values=sum(cell.values for cell in cells),
        modules=run.modules,
        seconds=round(run.seconds, 3),
        verdicts={verdict: verdicts[verdict] for verdict in Verdict},
        known=sum(cell.known for cell in cells),
        unpredictable=run.unpredictable,
        new_failures=sum(cell.new for cell in cells),
        known_elements=KnownElements(**asdict(known), predicted_percent=known.percent),
        denominators=denominators(cells),
        shares=shares_of(cells, [backend.name for backend in run.backends]),
        coverage=Coverage(
            whole=_reached(run.whole_coverage),
            dialects={name: _reached(one) for name, one in run.coverage_by_dialect.items()},
            ops={op: _reached(one) for op, one in run.coverage.items()},
        ),
        cells=tuple(map(_cell, planned)),
        divergences=tuple(map(_divergence, filter(_fails, run.records))),
        expectations={id_: Expectation(**asdict(one)) for id_, one in run.expectations.items()},
        stale_expectations=tuple(run.stale),
        fixed_expectations=tuple(run.fixed),
        incidents=tuple(run.incidents),
        versions=run.versions,
        backends=tuple(map(backend_of, run.backends)),
        seed=run.seed,
        profile=run.profile,
        filters=run.filters,
        started=run.started,
        command=run.command,
        peak_rss_mb={key: round(value, 1) for key, value in run.peak_rss_mb.items()},
        timing=Timing(**{key: round(value, 3) for key, value in asdict(run.timing).items()}),
        exit_code=run.exit_code,
        comparison=None,
    )


def denominators(cells: Sequence[CellResults]) -> Denominators:
    """Count ops, and cells by their state."""
    states = Counter(cell.state for cell in cells)
    tested = [cell for cell in cells if cell.is_tested]
    return Denominators(
        ops=len({cell.op for cell in cells}),
        ops_tested=len({cell.op for cell in tested}),
        cells=len(cells),
        cells_planned=len(cells) - states[FILTERED],
        cells_tested=len(tested),
        cells_untested=states[UNTESTED],
        cells_unsupported=states[Verdict.UNSUPPORTED.value],
        cells_filtered_out=states[FILTERED],
    )


def backend_of(described: Description) -> Backend:
    """Return what JSON says of a backend."""
    return Backend(
        name=described.name,
        platform=described.platform,
        device=described.device,
        versions=dict(described.versions),
    )


def _reached(measured: Measured) -> Reached:
    return Reached(**asdict(measured))


def _cell(cell: CellResults) -> Cell:
    return Cell(
        op=cell.op,
        element_type=cell.element_type,
        backend=cell.backend,
        verdict=cell.state,  # pyright: ignore[reportArgumentType] - no cell that is filtered out
        cases=len(cell.records),
        pairs=cell.pairs,
        values=cell.values,
        unsupported=cell.verdicts[Verdict.UNSUPPORTED],
        worst_ulp=_largest(record.worst_ulp for record in cell.records),
        budget_ulp=_largest(record.budget_ulp for record in cell.records),
        known=cell.known,
        new_failures=cell.new,
    )


def _largest(errors: Iterable[float | None]) -> float | None:
    # an error that is not finite has no place in JSON, nor among distances
    return max((e for e in errors if e is not None and math.isfinite(e)), default=None)


def _fails(record: Record) -> bool:
    return record.verdict.fails


def _divergence(record: Record) -> Divergence:
    detail = record.detail if record.verdict.has_results else None
    return Divergence(
        id=record.id,
        op=record.op,
        element_type=record.element_type,
        backend=record.backend,
        index=record.index,
        verdict=record.verdict,
        class_=record.kind,
        message=" ".join(record.message.split()),
        is_new=record.is_new_failure,
        known=record.known_by,
        wrong=detail.wrong if detail else None,
        total=detail.total if detail else None,
    )
