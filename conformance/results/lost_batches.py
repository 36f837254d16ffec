"""Batches that failed as a whole although no case explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.verdict import LostBatch, Record

_MISSING = " results expected, "
"""A part of the message on a wrong number of results, which shifts the results of a batch."""


def unexplained_batches(
    batches: Sequence[LostBatch], records: Iterable[Record]
) -> tuple[LostBatch, ...]:
    """Return the batches that no record explains, without batches that contain another such batch.

    A record explains a batch if any of its cases gave no results in isolation either. A batch also
    counts as lost if some of its cases were not run again.
    """
    explained = {_case(record) for record in records if _loses(record)}
    lost = [
        batch for batch in batches if not any((batch.backend, *c) in explained for c in batch.cases)
    ]
    cases = [(one.backend, {*one.cases}) for one in lost]
    return tuple(
        one
        for one, (backend, mine) in zip(lost, cases, strict=True)
        if not any(backend == other and theirs < mine for other, theirs in cases)
    )


def _case(record: Record) -> tuple[str, str, str, int]:
    return record.backend, record.op, record.element_type, record.index


def _loses(record: Record) -> bool:
    """Return whether a case explains a failed batch: it has no results, or the wrong number of
    them."""
    is_short = record.kind == "wrong type" and _MISSING in record.message
    return not record.verdict.has_results or is_short
