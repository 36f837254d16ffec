"""Near misses of XlaBuilder's ops: their twins' near misses, under the page's ids."""

from __future__ import annotations

from collections.abc import Iterator

from generators.families.xla.twins import rename_to_op
from generators.invalid.misses import Miss, Misses
from reference.ops.table import OPS


def restate_misses(misses: Misses) -> Misses:
    """Return the function that derives an op's near misses from its twin's.

    `misses` are the twin's; the op has the twin's attributes under the same names.
    """

    def of(op: str) -> Iterator[Miss]:
        record = OPS[op]
        ours = {theirs: own for own, ids in record.restates for theirs in ids}
        for id_, program in misses(record.twin):
            if id_ in ours:
                yield ours[id_], rename_to_op(program, record)

    return of
