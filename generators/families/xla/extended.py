"""Cases of XlaBuilder's ops whose instructions StableHLO lacks."""

from __future__ import annotations

from typing import Any

from generators.families import mhlo
from generators.families.xla.twins import twins
from generators.programs.building import Builder
from reference.ir.program import Operation
from reference.ops.xla.extended import OPS as RECORDS


def _scan(operation: Operation) -> dict[str, Any]:
    given: dict[str, Any] = dict(operation.attributes)
    return {
        "scan_dimension": given["dimension"],
        "num_carries": given["operandSegmentSizes"][1],
        "is_reverse": given["is_reverse"],
    }


BUILDERS: dict[str, Builder] = twins(mhlo.BUILDERS, RECORDS, {"Scan": _scan})
"""What builds the cases of each op."""
