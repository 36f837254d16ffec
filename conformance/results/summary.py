"""A whole run as one value, and its summary: what the reports and summary.json are made from."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from conformance.backends.base import Description
from conformance.results.store import FILE_NAME, CellKey, Store
from conformance.verdict import Errors, Record, Timing, Verdict

UNTESTED = "untested"
FILTERED_OUT = "filtered out"


@dataclass(frozen=True, slots=True)
class Known:
    """Why an expectation knows a divergence, and where that is discussed ("" where nowhere)."""

    reason: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class RunData:
    """A run: everything that reports are made from.

    `records` are in the order of `planned` and index; `errors` has the cells with a picture.
    `planned` are the cells that were to be tested, in the order of the catalog, `filtered` those
    that the filters or the shard left out. `filters` are the options that chose: op, element_type,
    shard. `started` is UTC in ISO 8601; `seconds` is wall time, all sittings of a resumed run
    together; `peak_rss_mb` has the keys parent and worker. `expectations` has those that applied
    to a cell of the run, by id; `stale` are ids that matched nothing. `incidents` are events that
    belong to no case. `exit_code` is None for a run that has not ended.
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
    backends: tuple[Description, ...] = ()
    expectations: dict[str, Known] = field(default_factory=dict[str, Known])
    stale: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One square of the matrix.

    `verdict` is the worst of the cell's records, unsupported cases aside; or "unsupported" when
    there are no others, "untested" for a planned cell without records, "filtered out" for one that
    was not asked for. `known` and `new_failures` count records.
    """

    op: str
    element_type: str
    backend: str
    verdict: str
    cases: int = 0
    pairs: int = 0
    values: int = 0
    unsupported: int = 0
    worst_ulp: float | None = None
    budget_ulp: float | None = None
    known: int = 0
    new_failures: int = 0


def load(path: Path) -> RunData:
    """The run that a results.sqlite holds, or the folder that one lies in.

    Raises:
        StoreError: when there is none, or it cannot be read.
    """
    with Store(path / FILE_NAME if path.is_dir() else path, read_only=True) as store:
        return read(store)


def read(store: Store) -> RunData:
    """The run in an open store."""
    stored = store.meta()
    timing, modules, worker = store.totals()
    names = {known.name for known in fields(RunData)}
    given: dict[str, Any] = {"seed": 0, "profile": "", "versions": {}}
    given |= {key: value for key, value in stored.items() if key in names}
    for key in ("planned", "filtered"):
        given[key] = tuple((op, of, backend) for op, of, backend in given.get(key, ()))
    for key in ("stale", "incidents"):
        given[key] = tuple(given.get(key, ()))
    given["backends"] = tuple(_description(one) for one in given.get("backends", ()))
    given["expectations"] = {k: Known(**v) for k, v in given.get("expectations", {}).items()}
    given["peak_rss_mb"] = {"parent": 0.0, **given.get("peak_rss_mb", {}), "worker": worker}
    timing = replace(timing, storage=stored.get("storage_seconds", 0.0))
    given |= {"timing": timing, "modules": modules}
    place = {cell: number for number, cell in enumerate(given["planned"])}
    records = store.records()
    records.sort(key=lambda r: (place.get((r.op, r.element_type, r.backend), len(place)), r.index))
    return RunData(records, store.errors(), **given)


def _description(stored: dict[str, Any]) -> Description:
    versions = tuple((name, version) for name, version in stored["versions"])
    return Description(stored["name"], stored["platform"], stored["device"], versions)


def cell_summaries(run: RunData) -> list[CellSummary]:
    """Every cell of the run, planned ones first, then those filtered out."""
    found: dict[CellKey, list[Record]] = {cell: [] for cell in run.planned}
    for record in run.records:
        found.setdefault((record.op, record.element_type, record.backend), []).append(record)
    summaries = [_cell_summary(cell, records) for cell, records in found.items()]
    return summaries + [CellSummary(*cell, FILTERED_OUT) for cell in run.filtered]


def _cell_summary(cell: CellKey, records: list[Record]) -> CellSummary:
    if not records:
        return CellSummary(*cell, UNTESTED)
    supported = [r for r in records if r.verdict is not Verdict.UNSUPPORTED]
    worst = max((r.verdict for r in supported or records), key=lambda verdict: verdict.severity)
    return CellSummary(
        *cell,
        verdict=worst.value,
        cases=len(records),
        pairs=sum(r.pairs for r in records),
        values=sum(r.values for r in records),
        unsupported=len(records) - len(supported),
        worst_ulp=_largest(r.worst_ulp for r in records),
        budget_ulp=_largest(r.budget_ulp for r in records),
        known=sum(bool(r.known) for r in records),
        new_failures=sum(r.is_new_failure for r in records),
    )


def _largest(errors: Iterable[float | None]) -> float | None:
    # an error that is not finite has no place in JSON, nor among distances
    return max((e for e in errors if e is not None and math.isfinite(e)), default=None)


def summarise(run: RunData) -> dict[str, Any]:
    """The content of summary.json."""
    cells = cell_summaries(run)
    verdicts = Counter(record.verdict.value for record in run.records)
    return {
        "cases": len(run.records),
        "pairs": sum(record.pairs for record in run.records),
        "values": sum(record.values for record in run.records),
        "modules": run.modules,
        "seconds": round(run.seconds, 3),
        "verdicts": {verdict.value: verdicts[verdict.value] for verdict in Verdict},
        "known": sum(bool(record.known) for record in run.records),
        "new_failures": sum(record.is_new_failure for record in run.records),
        "denominators": denominators(cells),
        "cells": [asdict(cell) for cell in cells if cell.verdict != FILTERED_OUT],
        "versions": run.versions,
        "backends": [asdict(backend) for backend in run.backends],
        "seed": run.seed,
        "profile": run.profile,
        "filters": run.filters,
        "started": run.started,
        "command": run.command,
        "peak_rss_mb": {key: round(value, 1) for key, value in run.peak_rss_mb.items()},
        "timing": {key: round(value, 3) for key, value in asdict(run.timing).items()},
        "stale_expectations": list(run.stale),
        "incidents": list(run.incidents),
        "exit_code": run.exit_code,
    }


def denominators(cells: list[CellSummary]) -> dict[str, int]:
    """How much of everything there is was tested: counts of ops and of cells by state."""
    states = Counter(cell.verdict for cell in cells)
    tested = [c for c in cells if c.verdict not in (UNTESTED, FILTERED_OUT, "unsupported")]
    return {
        "ops": len({cell.op for cell in cells}),
        "ops_tested": len({cell.op for cell in tested}),
        "cells": len(cells),
        "cells_planned": len(cells) - states[FILTERED_OUT],
        "cells_tested": len(tested),
        "cells_untested": states[UNTESTED],
        "cells_unsupported": states[Verdict.UNSUPPORTED.value],
        "cells_filtered_out": states[FILTERED_OUT],
    }


def exit_code(run: RunData, *, strict: bool = False) -> int:
    """0 the backends conform, 1 something new diverges (or is stale, if strict), 4 nothing tested.

    A cell left without records by something other than its backend also counts as a failure:
    what was asked for was not tested.
    """
    if any(r.is_new_failure for r in run.records):
        return 1
    if all(r.verdict is Verdict.UNSUPPORTED for r in run.records):
        return 4
    untested = any(cell.verdict == UNTESTED for cell in cell_summaries(run))
    return 1 if untested or (strict and run.stale) else 0


def write_json(run: RunData, path: Path) -> None:
    """Write summary.json, in one step: a reader sees the old file or the new, never half of one."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(summarise(run), indent=1) + "\n", encoding="utf-8")
    partial.replace(path)
