"""Replaying a recorded case: found in the store, run again in a worker, shown as lines.

The parent loads neither the reference nor a backend; a worker does (conformance/campaign/rerun.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.backends.registry import parse
from conformance.backends.versions import GIVEN
from conformance.campaign.recorded import RecordedCase, Replay
from conformance.errors import NotAvailable, UsageError
from conformance.executors.backend_workers import executor_of
from conformance.executors.deferred import Deferred
from conformance.executors.local import Call, WorkerCrash, WorkerTimeout
from conformance.judging.messages import additional_failure_line
from conformance.limits import LIMITS, Limits
from conformance.results.store import FILE_NAME, Store
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

    The program is shown in MLIR's pretty form, or in the `generic` form.

    Raises:
        UsageError: if there is no backend of that name.
        NotAvailable: if the backend is not available here.
    """
    with executor_of(parse(case.backend), jobs=1, limits=limits, functions=(RERUN,)) as executor:
        answer = executor.one(Call(case.record.id, RERUN, (case, generic), limits.timeout))
    if isinstance(answer, Replay):
        return answer
    if isinstance(answer, (WorkerCrash, WorkerTimeout)):
        from conformance.campaign.rerun import crash_replay

        return crash_replay(case, answer)
    raise answer if isinstance(answer, Exception) else NotAvailable(str(answer))


def lines(replayed: Replay, before: Record) -> Sequence[str]:
    """Return the lines to print: program, arguments, results, the worst elements, the verdict then
    and now.
    """
    record = replayed.record
    shown = ["program:", replayed.program.rstrip()]
    for name, of, values in replayed.arguments:
        shown += [f"{name}: {of}", values]
    for number, (of, expected, actual) in enumerate(replayed.results):
        shown += [f"result {number}: {of}", f"expected {expected}"]
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
    return shown


def _verdict(record: Record) -> str:
    kind = f" ({record.kind})" if record.kind else ""
    return f"{record.verdict.value}{kind}" + (f": {record.message}" if record.message else "")
