"""A whole run as one value, and its summary, from which reports and summary.json are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

from conformance.backends.base import Description
from conformance.outputs import run as output
from conformance.outputs.report import Report
from conformance.outputs.schema import REPORT, json_text, json_value
from conformance.results.cells import FILTERED, CellResults, group_by_cell
from conformance.results.known_elements import KnownElements, known_elements
from conformance.results.left_out import LeftOut
from conformance.results.lost_batches import unexplained_batches
from conformance.results.report import (
    backend_of,
    batch_of,
    cell_of,
    denominators,
    divergence_of,
    left_out_of,
    reached_of,
)
from conformance.results.shares import shares_of
from conformance.results.store import FILE_NAME, CellKey, Store
from conformance.verdict import Errors, LostBatch, Record, Timing, Verdict
from generators.cells.coverage_report import CoverageReport
from reference.ir.op import Dialect
from reference.ops.table import OPS

DIALECTS: dict[Dialect, str] = {
    Dialect.STABLEHLO: "StableHLO",
    Dialect.XLA: "XlaBuilder",
    Dialect.CHLO: "CHLO",
    Dialect.MHLO: "XLA's instructions",
}
"""Names of the dialects in reports."""


@dataclass(frozen=True, slots=True)
class KnownReason:
    """The reason of an expectation, and a link to its discussion ("" for none).

    `unpredictable` and `flaky` are the expectation's fields.
    """

    reason: str = ""
    link: str = ""
    unpredictable: bool = False
    flaky: bool = False


@dataclass(frozen=True)
class RunData:
    """A run: everything from which reports are made.

    `records` are in the order of `planned` and index. `errors` has the error statistics of cells.
    `planned` are the planned cells in the order of the catalog, `filtered` those that the filters
    or the shard left out. `filters` are the options that selected cells: op, element_type, shard.
    `started` is UTC in ISO 8601; `seconds` is wall time, summed over all sessions of a resumed run;
    `peak_rss_mb` has the keys parent and worker. `expectations` has those that applied to a cell of
    the run, by id. `stale` are ids that matched nothing and whose counterexamples no longer
    reproduce, `fixed` those whose counterexamples pass. `incidents` are errors of the harness and
    worker crashes that belong to no record; a run with any fails. `remarks` are events that do not
    fail a run, such as a case that was run again on a busy machine. `coverage` is the coverage of
    the dimensions of variation, by op. `identity` must be equal in a run and the run that it
    continues.
    `lost_batches` failed as a whole although none of their cases failed in isolation; those that no
    expectation matches are also incidents. `left_out` are cases for which the time of `--budget`
    was not enough. `digests` are the digests of the backends on the run's machine, by name; "" if
    they changed during the run. `cached_cases` counts, by cell, cases taken from a cache.
    `recorded` are the ids of the cases with the same wrong elements as in the baseline.
    `exit_code` is None for a run that has not ended.
    """

    records: list[Record]
    errors: dict[CellKey, Errors]
    seed: int
    profile: str
    versions: dict[str, str]
    started: str = ""
    command: str = ""
    planned: tuple[CellKey, ...] = ()
    filtered: tuple[CellKey, ...] = ()
    filters: dict[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0
    modules: int = 0
    peak_rss_mb: dict[str, float] = field(default_factory=dict[str, float])
    timing: Timing = field(default_factory=Timing)
    cell_seconds: dict[CellKey, float] = field(default_factory=dict[CellKey, float])
    backends: tuple[Description, ...] = ()
    expectations: dict[str, KnownReason] = field(default_factory=dict[str, KnownReason])
    stale: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    coverage: dict[str, CoverageReport] = field(default_factory=dict[str, CoverageReport])
    identity: dict[str, Any] = field(default_factory=dict[str, Any])
    lost_batches: tuple[LostBatch, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    digests: dict[str, str] = field(default_factory=dict[str, str])
    cached_cases: dict[CellKey, int] = field(default_factory=dict[CellKey, int])
    recorded: tuple[str, ...] = ()
    exit_code: int | None = None

    @cached_property
    def cells(self) -> dict[CellKey, CellResults]:
        """The results of every cell of the run, computed once."""
        return group_by_cell(self.planned, self.filtered, self.records)

    @cached_property
    def whole_coverage(self) -> CoverageReport:
        """The coverage of all ops together, computed once; what is missing is listed by op."""
        return _total(self.coverage.values())

    @cached_property
    def coverage_by_dialect(self) -> dict[str, CoverageReport]:
        """The coverage of the ops of each dialect with cases.

        XlaBuilder's ops have fewer cases, because they share the semantics of ops of StableHLO.
        """
        found: dict[str, list[CoverageReport]] = {}
        for op, reached in self.coverage.items():
            if op in OPS:  # a stored run may have been of another version
                found.setdefault(DIALECTS[OPS[op].dialect], []).append(reached)
        return {name: _total(found[name]) for name in DIALECTS.values() if name in found}

    @cached_property
    def known_elements(self) -> KnownElements:
        """The elements that entries with predictions match, and how many of them are predicted.

        Elements that may have any value are counted, too.
        """
        return known_elements(self.records, unpredictable=self._unpredictable_ids)

    @property
    def from_cache(self) -> int:
        """The number of cases that were taken from a cache."""
        return sum(self.cached_cases.values())

    @cached_property
    def left_out_cases(self) -> dict[CellKey, int]:
        """The largest number of cases of each cell that were left out, if any."""
        return {one.key: one.cases for one in self.left_out}

    @property
    def _unpredictable_ids(self) -> set[str]:
        return {id_ for id_, known in self.expectations.items() if known.unpredictable}

    @cached_property
    def unpredictable(self) -> int:
        """The number of known failures with elements that no program predicts."""
        ids = self._unpredictable_ids
        failing = (r for r in self.records if r.verdict.fails and r.known)
        return sum(not ids.isdisjoint(record.expectation_ids) for record in failing)

    @cached_property
    def unpredicted(self) -> list[Record]:
        """The failures matched by entries that do not state their values, and not recorded."""
        recorded = {*self.recorded}
        return [
            record for record in self.records if record.unpredicted and record.id not in recorded
        ]

    @cached_property
    def flaky(self) -> int:
        """The number of known failures that do not fail every time."""
        ids = {id_ for id_, known in self.expectations.items() if known.flaky}
        failing = (r for r in self.records if r.verdict.fails and r.known)
        return sum(not ids.isdisjoint(record.expectation_ids) for record in failing)

    @cached_property
    def report(self) -> Report:
        """The content of summary.json, without a comparison."""
        return _report(self)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json as JSON objects, without a comparison."""
        return json_value(self.report)


def load(path: Path) -> RunData:
    """Return the run in a results.sqlite, or in the folder that contains it.

    Raises:
        StoreError: if there is none, or it cannot be read.
    """
    with Store(path / FILE_NAME if path.is_dir() else path, read_only=True) as store:
        return read_store(store)


def read_store(store: Store) -> RunData:
    """Return the run in an open store."""
    stored = store.meta()
    timing, modules, worker = store.totals()
    types = get_type_hints(RunData)
    given: dict[str, Any] = {"seed": 0, "profile": "", "versions": {}, "planned": ()}
    given |= {
        key: store.convert(value, types[key]) for key, value in stored.items() if key in types
    }
    given["peak_rss_mb"] = {"parent": 0.0, **given.get("peak_rss_mb", {}), "worker": worker}
    timing = replace(
        timing,
        generation=timing.generation + stored.get("planning_seconds", 0.0),
        storage=stored.get("storage_seconds", 0.0),
    )
    given |= {"timing": timing, "modules": modules, "cell_seconds": store.cell_seconds()}
    given["cached_cases"] = store.cached_cases()
    place = {cell: index for index, cell in enumerate(given["planned"])}
    records = store.records()
    records.sort(key=lambda r: (place.get((r.op, r.element_type, r.backend), len(place)), r.index))
    lost = unexplained_batches(store.lost_batches(), records)
    told = [one.line for one in lost if one.verdict.fails and not one.known]
    given |= {"lost_batches": lost, "incidents": (*given.get("incidents", ()), *told)}
    return RunData(records, store.errors(), **given)


def _total(every: Collection[CoverageReport]) -> CoverageReport:
    return CoverageReport(
        sum(one.values for one in every),
        sum(one.declared_values for one in every),
        sum(one.out_of_reach for one in every),
        sum(one.pairs for one in every),
        sum(one.declared_pairs for one in every),
    )


def _report(run: RunData) -> Report:
    """Return the JSON report of a run, without a comparison."""
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
        flaky=run.flaky,
        value_not_predicted=len(run.unpredicted),
        not_deterministic=sum(record.repeats is not None for record in run.records),
        new_failures=sum(cell.new for cell in cells),
        known_elements=output.KnownElements(**asdict(known), predicted_percent=known.percent),
        denominators=denominators(cells),
        shares=shares_of(cells, [backend.name for backend in run.backends]),
        coverage=output.Coverage(
            whole=reached_of(run.whole_coverage),
            dialects={name: reached_of(one) for name, one in run.coverage_by_dialect.items()},
            ops={op: reached_of(one) for op, one in run.coverage.items()},
        ),
        cells=tuple(_cell(run, cell) for cell in planned),
        divergences=tuple(divergence_of(one) for one in run.records if one.verdict.fails),
        expectations={
            id_: output.Expectation(**asdict(one)) for id_, one in run.expectations.items()
        },
        stale_expectations=tuple(run.stale),
        fixed_expectations=tuple(run.fixed),
        incidents=tuple(run.incidents),
        lost_batches=tuple(map(batch_of, run.lost_batches)),
        left_out=tuple(map(left_out_of, run.left_out)),
        from_cache=run.from_cache,
        build=str(run.identity.get("build of hlo-conformance", "")),
        versions=run.versions,
        backends=tuple(map(backend_of, run.backends)),
        seed=run.seed,
        profile=run.profile,
        filters=run.filters,
        started=run.started,
        command=run.command,
        peak_rss_mb={key: round(value, 1) for key, value in run.peak_rss_mb.items()},
        timing=output.Timing(**{key: round(value, 3) for key, value in asdict(run.timing).items()}),
        exit_code=run.exit_code,
        comparison=None,
        history=None,
        findings=None,
        sweeps=None,
    )


def _cell(run: RunData, cell: CellResults) -> output.Cell:
    return cell_of(
        cell,
        from_cache=run.cached_cases.get(cell.key, 0),
        left_out=run.left_out_cases.get(cell.key, 0),
        seconds=run.cell_seconds.get(cell.key, 0.0),
    )


def write_json(report: Report, path: Path) -> None:
    """Write summary.json in one step, so that a reader never sees half a file."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json_text(report), encoding="utf-8")
    partial.replace(path)
