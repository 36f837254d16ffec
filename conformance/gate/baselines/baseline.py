"""Baselines: the outcome of each case of a run, for comparison with later runs.

text_file.py has their text format, comparison.py the comparison.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.executors.lost import ABNORMAL_EXIT, ending
from conformance.gate.baselines import text_file
from conformance.gate.baselines.text_file import Baseline, BaselineError, Case, CaseOutcome
from conformance.results.database import StoreError
from conformance.results.store import FILE_NAME, CellKey
from conformance.results.summary import RunData, load
from conformance.verdict import Record, Verdict


def baseline_of(run: RunData) -> Baseline:
    """Return the baseline of a run."""
    cells: dict[CellKey, dict[int, Case]] = {}
    flaky = {id_ for id_, entry in run.expectations.items() if entry.flaky}
    varying = {id_ for id_, entry in run.expectations.items() if entry.unpredictable} | flaky
    for record in run.records:
        key = (record.op, record.element_type, record.backend)
        digest = record.digest[: text_file.DIGEST_DIGITS]
        cells.setdefault(key, {})[record.index] = Case(digest, outcome_of(record, flaky, varying))
    names = dict.fromkeys([backend.name for backend in run.backends])
    names |= dict.fromkeys(backend for _, _, backend in cells)
    described = {backend.name: dict(backend.versions) for backend in run.backends}
    for name, digest in run.digests.items():
        if digest:
            described.setdefault(name, {})[text_file.DIGEST] = digest
    return Baseline(
        profile=run.profile,
        seed=run.seed,
        build=str(run.identity.get("build of hlo-conformance", "")),
        versions=dict(run.versions),
        backends={name: described.get(name, {}) for name in names},
        cells=cells,
    )


def outcome_of(record: Record, flaky: Collection[str], varying: Collection[str]) -> CaseOutcome:
    """Return the outcome of a case, without times and addresses.

    `flaky` are the ids of flaky entries, `varying` those of entries about values that vary.
    """
    verdict = record.verdict
    if verdict is Verdict.UNSPECIFIED:
        return CaseOutcome(Verdict.PASS)  # the specification permits both
    if not verdict.fails:
        return CaseOutcome(verdict)
    known, ids = bool(record.known), record.expectation_ids
    is_flaky = known and any(id_ in flaky for id_ in ids)
    wrong = "" if any(id_ in varying for id_ in ids) else record.wrong_digest
    kind = record.kind
    if kind == ABNORMAL_EXIT:
        kind = f"{kind}, {ending(record.message)}"
    return CaseOutcome(verdict, kind, known, _worst_error(record), is_flaky, wrong, ids)


def _worst_error(record: Record) -> float | None:
    """Return the largest error of the shown class, to three digits."""
    shown = [f for f in record.failing if (f.verdict, f.kind) == (record.verdict, record.kind)]
    errors = [one.worst_ulp for one in shown if one.worst_ulp is not None]
    if not errors and record.verdict is Verdict.INACCURATE and record.worst_ulp is not None:
        errors = [record.worst_ulp]
    finite = [error for error in errors if math.isfinite(error)]
    return float(f"{max(finite):.3g}") if finite else None


@dataclass(frozen=True, slots=True)
class ReadBaseline:
    """A baseline, and its path as the user typed it."""

    path: str
    baseline: Baseline = field(repr=False)


def read_baseline(path: Path) -> ReadBaseline:
    """Read a baseline file, or the run in a folder or in a results.sqlite.

    Raises:
        BaselineError: if there is none, or it cannot be read; the message says what to do.
    """
    if path.is_dir() or path.suffix == Path(FILE_NAME).suffix:
        try:
            return ReadBaseline(str(path), baseline_of(load(path)))
        except StoreError as error:
            raise BaselineError(f"--baseline: {error}") from error
    return ReadBaseline(str(path), text_file.read(path))


def apply_recordings(
    run: RunData, recorded: Mapping[str, CaseOutcome], entries: Collection[str]
) -> RunData:
    """Return the run with failures known that have the same wrong elements as in the baseline.

    They are known by the entry that the baseline names, if it is among `entries`. `recorded` has
    the outcomes in the baseline by the records' ids.
    """
    records = [
        _known_as_recorded(record, [id_ for id_ in recorded[record.id].entries if id_ in entries])
        if record.is_new_failure and record.id in recorded
        else record
        for record in run.records
    ]
    return replace(run, records=records, recorded=tuple(recorded))


def _known_as_recorded(record: Record, ids: Sequence[str]) -> Record:
    if not ids:
        return record
    failing = tuple(replace(one, known=one.known or ids[0]) for one in record.failing)
    return replace(record, known=ids[0], failing=failing)
