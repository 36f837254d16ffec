"""Replaying a recorded case: found in the store, run again in a worker, shown as lines.

The parent loads neither the reference nor a backend; a worker does (conformance/campaign/rerun.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from conformance.backends.registry import Choice, parse
from conformance.backends.versions import GIVEN
from conformance.campaign.recorded import RecordedCase, Replay
from conformance.errors import NotAvailable, UsageError
from conformance.executors.backend_workers import describe, executor_of
from conformance.executors.deferred import Deferred
from conformance.executors.executor import Executor
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.gate.expectations import Expectation, hypotheses_of, match_record
from conformance.gate.reading import load_applicable
from conformance.judging.messages import additional_failure_line, verdict_text
from conformance.limits import LIMITS, Limits
from conformance.results.store import FILE_NAME, Store
from conformance.results.versions import versions
from conformance.text import one_line
from conformance.verdict import Record

RERUN = Deferred("conformance.campaign.rerun", "rerun")
"""Rerun a recorded case and judge it again."""


def find(path: Path, id: str) -> RecordedCase:  # noqa: A002 - what it is called everywhere
    """Return the case with that id in a run's folder, or in its results.sqlite.

    Raises:
        StoreError: if there is no run, or it cannot be read.
        UsageError: if the run has no such case, with the nearest ids.
    """
    with Store(path / FILE_NAME if path.is_dir() else path, read_only=True) as store:
        record = store.record(id)
        if record is not None:
            meta = store.meta()
            backend = meta.get("spellings", {}).get(record.backend, record.backend)
            given = meta.get("expectation_file")
            version = _version_given(meta.get("backends", []), record.backend)
            return RecordedCase(record, meta["seed"], meta["profile"], backend, given, version)
        close = difflib.get_close_matches(id, store.ids(), n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else "its report lists the ids"
    raise UsageError(f"this run has no case {id!r}; {hint}")


def _version_given(described: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the version that `--backend-version` stated for a backend, "" if it stated none."""
    told = (one["versions"] for one in described if one["name"] == name)
    return next((number for found in told for key, number in found if key == GIVEN), "")


def replay(case: RecordedCase, limits: Limits = LIMITS, *, generic: bool = False) -> Replay:
    """Rerun the case in a worker process and judge it again.

    The program is shown in MLIR's pretty form, or in the `generic` form. The new record says which
    expectations of the run match it.

    Raises:
        UsageError: if there is no backend of that name.
        NotAvailable: if the backend is not available here.
        ExpectationError: when the expectations of the run cannot be read any more.
    """
    backend = parse(case.backend)
    with executor_of(backend, jobs=1, limits=limits, functions=(RERUN,)) as executor:
        entries = _expectations(case, executor, backend)
        asked = (case, hypotheses_of(entries, backend.name), generic)
        answer = executor.one(Call(case.record.id, RERUN, asked, limits.timeout))
    if isinstance(answer, (WorkerCrash, WorkerTimeout)):
        from conformance.campaign.rerun import crash_replay

        answer = crash_replay(case, answer)
    if isinstance(answer, Replay):
        known = {entry.id: entry.reason for entry in entries}
        return replace(answer, record=match_record(answer.record, entries), reasons=known)
    raise answer if isinstance(answer, Exception) else NotAvailable(str(answer))


def _expectations(case: RecordedCase, executor: Executor, backend: Choice) -> Sequence[Expectation]:
    """Return the expectations of the run that apply to the backend here."""
    given = {backend.name: case.version} if case.version else {}
    describe_backend = partial(describe, executor, backend)
    return load_applicable(case.expectations, backend.name, versions(), describe_backend, given)


def lines(replayed: Replay, before: Record) -> Sequence[str]:
    """Return the lines to print: program, arguments, results, the worst elements, the verdict then
    and now.
    """
    record = replayed.record
    shown = ["program:", replayed.program.rstrip()]
    for name, of, values in replayed.arguments:
        shown += [f"{name}: {of}", values]
    for index, (of, expected, actual) in enumerate(replayed.results):
        shown += [f"result {index}: {of}", f"expected {expected}"]
        shown += [f"actual   {actual}"] if actual else []
    for element in record.detail.elements if record.detail else ():
        ulp = "" if element.ulp is None else f", {element.ulp:g} {replayed.unit}"
        given = ", ".join(f"{name} {value} ({bits})" for name, value, bits in element.inputs)
        shown.append(
            f"at {list(element.index)}: expected {element.expected} ({element.expected_hex}), "
            f"got {element.actual} ({element.actual_hex}){ulp}" + (f"; {given}" if given else "")
        )
    shown.append(f"recorded: {_verdict(before)}")
    shown += map(additional_failure_line, before.further_failures)
    shown.append(f"now:      {_verdict(record)}")
    shown += map(additional_failure_line, record.further_failures)
    if record.verdict.fails:
        shown.append(_expectation_line(record, replayed.reasons))
    return shown


def _verdict(record: Record) -> str:
    return verdict_text(record.verdict.value, record.kind, record.message)


def _expectation_line(record: Record, reasons: Mapping[str, str]) -> str:
    """Return a line about the expectations that match a failing case."""
    if record.is_new_failure:
        return "new: no expectation matches it"
    matching = (f"{id_}: {one_line(reasons[id_])}" for id_ in record.expectation_ids)
    return f"known: {'; '.join(matching)}"
