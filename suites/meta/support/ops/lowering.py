"""XlaBuilder's ops lowered, and the conditions of their page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.ir.constraints import collect_violations
from reference.ir.op import Op
from reference.ir.program import Operation, Program, Region, Value, ValueType
from reference.ops.xla.building import Building


def records_of(ops: tuple[Op, ...]) -> Mapping[str, Op]:
    """Return records by name."""
    return {record.name: record for record in ops}


def lower(
    record: Op,
    *operands: ValueType,
    results: tuple[ValueType, ...] = (),
    regions: tuple[Region, ...] = (),
    scope: Program | None = None,
    **given: Any,
) -> list[Operation]:
    """Return the operations that an op is lowered to; its operands are called o0, o1, ..."""
    assert record.lower is not None
    building = Building("r", results, scope=scope)
    values = tuple(Value(f"o{index}", of) for index, of in enumerate(operands))
    record.lower(building, *record.group_operands(values), **given, **record.name_regions(regions))
    return building.operations


def violations(record: Op, *operands: ValueType, **given: Any) -> list[str]:
    """Return the ids of all constraints that an op's operands and attributes break."""
    with collect_violations() as found:
        record.infer(*operands, **given)
    return found.ids
