"""Coverage of a run: the values of the dimensions of variation that its cases cover."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from conformance.campaign.cache.cases import cached_coverage, written_coverage
from conformance.campaign.cache.digests import own_digest
from conformance.campaign.cache.entries import Entries
from conformance.verdict import Record
from generators.case.columns import INVALID
from generators.cells.coverage_report import CoverageReport


def coverage_of(
    records: Iterable[Record], seed: int, entries: Entries | None = None
) -> dict[str, CoverageReport]:
    """Return the coverage by op of the cases with these records, whatever their verdict.

    The plans of all ops are made again, which takes some milliseconds for each op that the cache
    does not have.
    """
    from generators.cells.plan import coverage_report  # loads every builder: once there is a result

    tried: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        if record.element_type != INVALID.name:
            tried[record.op][record.element_type].add(record.index)
    if entries is None:
        return {op: coverage_report(op, seed, columns) for op, columns in tried.items()}
    found: dict[str, CoverageReport] = {}
    for op, columns in tried.items():
        key, stored = cached_coverage(entries, own_digest(), op, seed, columns)
        found[op] = coverage_report(op, seed, columns) if stored is None else stored
        if stored is None:
            entries.put(key, written_coverage(found[op]))
    return found
