"""What the cases of a run reach of the dimensions of variation that their builders declare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from conformance.verdict import Record
from generators.case.columns import INVALID
from generators.cells.coverage import Reached


def coverage_of(records: Iterable[Record], seed: int) -> dict[str, Reached]:
    """What the cases behind these records reach, by op; whatever came of them, they were tried.

    The plans of all ops are made again, which takes some milliseconds for each.
    """
    from generators.cells.plan import reached  # loads every builder: once there is a result

    tried: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        if record.element_type != INVALID.name:
            tried[record.op][record.element_type].add(record.index)
    return {op: reached(op, seed, columns) for op, columns in tried.items()}
