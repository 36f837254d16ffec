"""Recordings: the wrong elements of failing cases, as a baseline has them by their digests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conformance.gate.baselines.text_file import CaseOutcome
from conformance.results.summary import RunData
from conformance.verdict import INPUT_DIGITS, Record, Verdict


def has_same_values(before: CaseOutcome, after: CaseOutcome) -> bool:
    """Return whether a case has the same wrong elements as in the baseline."""
    return bool(after.wrong_digest) and before.wrong_digest == after.wrong_digest


def has_other_values(before: CaseOutcome, after: CaseOutcome) -> bool:
    """Return whether a case, on the same inputs, has other wrong elements than in the baseline.

    Elements that may vary from run to run have no digest.
    """
    if before.verdict is Verdict.PASS or not after.wrong_digest:
        return bool(after.wrong_digest)
    then, now = before.wrong_digest, after.wrong_digest
    return then[:INPUT_DIGITS] == now[:INPUT_DIGITS] and then != now


def apply_recordings(
    run: RunData, recorded: Mapping[str, CaseOutcome], entries: Collection[str]
) -> RunData:
    """Return the run with failures known that have the same wrong elements as in the baseline.

    They are known by the entry that the baseline names, if it is among `entries`. `recorded` has
    the outcomes in the baseline by the records' ids.
    """
    records = [
        _known_as_recorded(one, [id_ for id_ in recorded[one.id].entries if id_ in entries])
        if one.is_new_failure and one.id in recorded
        else one
        for one in run.records
    ]
    return replace(run, records=records, recorded=tuple(recorded))


def _known_as_recorded(record: Record, ids: Sequence[str]) -> Record:
    if not ids:
        return record
    failing = tuple(replace(one, known=one.known or ids[0]) for one in record.failing)
    return replace(record, known=ids[0], failing=failing)
