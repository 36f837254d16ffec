"""Cases of XlaBuilder's ops whose instructions StableHLO lacks."""

from __future__ import annotations

from functools import partial
from typing import Any

from generators.families import mhlo
from generators.families.xla.elementwise import accurate
from generators.families.xla.twins import twins
from generators.programs.building import Builder
from reference.ir.program import Operation
from reference.ops.xla.extended import OPS as RECORDS


def _scan(operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = dict(operation.attributes)
    said = {name: given[name] for name in ("is_reverse", "is_associative") if name in given}
    return {
        "scan_dimension": given["dimension"],
        "num_carries": given["operandSegmentSizes"][1],
    } | said


BUILDERS: dict[str, Builder] = twins(mhlo.BUILDERS, RECORDS, {"Scan": _scan}) | {
    record.name: partial(accurate, mhlo.BUILDERS[record.twin], record)
    for record in RECORDS
    if "result_accuracy" in record.attributes
}
"""The builder of each op's cases."""
