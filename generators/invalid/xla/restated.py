"""Near misses of XlaBuilder's ops: their twins' near misses, under the page's ids."""

from __future__ import annotations

from collections.abc import Iterator

from generators.families.xla.twins import Restate, rename_to_op
from generators.invalid.misses import Miss, Misses
from reference.ir.constraints import collect_violations
from reference.ops.table import OPS


def restate_misses(misses: Misses, restate: Restate | None = None) -> Misses:
    """Return the function that derives an op's near misses from its twin's.

    `misses` are the twin's; without `restate` the op has the twin's attributes under the same
    names, otherwise the result types that its own attributes imply.
    """

    def of(op: str) -> Iterator[Miss]:
        record = OPS[op]
        ours = {theirs: own for own, ids in record.restates for theirs in ids}
        for id_, program in misses(record.twin):
            if id_ not in ours:
                continue
            with collect_violations():
                renamed = rename_to_op(program, record, restate, inferred=restate is not None)
            yield ours[id_], renamed

    return of
