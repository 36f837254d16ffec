"""XlaBuilder's ops as operations of StableHLO: what the builder makes of a call, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from reference.ir.constraints import ConstraintViolation, checking, collecting
from reference.ir.op import Op
from reference.ir.program import Operation, Program, Region, Value
from reference.ops.table import OPS
from reference.ops.xla.building import Building, lowering


def lowered(program: Program) -> Program:
    """The program without ops of XlaBuilder that are lowered; itself where it has none.

    Raises:
        ConstraintViolation: when the operands of such an op do not fit at all.
    """
    if not any(record is not None and record.lower for record in map(_record, program.walk())):
        return program
    functions = tuple(replace(one, body=_region(one.body, program)) for one in program.functions)
    return replace(program, functions=functions)


def _region(region: Region, program: Program) -> Region:
    return replace(region, operations=tuple(_all_lowered(region.operations, program)))


def _all_lowered(operations: Sequence[Operation], program: Program) -> Iterator[Operation]:
    for operation in operations:
        for one in steps_of(operation, program):
            regions = tuple(_region(region, program) for region in one.regions)
            yield replace(one, regions=regions) if regions else one


def steps_of(operation: Operation, program: Program) -> tuple[Operation, ...]:
    """Return what an operation of a program is lowered to: itself, where it is not XlaBuilder's.

    The operation's results are results of the operations returned.

    Raises:
        ConstraintViolation: when it cannot be lowered, as operands do not fit at all.
    """
    record = _record(operation)
    if record is None or record.lower is None:
        return (operation,)
    types = tuple(value.type for value in operation.results)
    prefix = operation.results[0].name if operation.results else record.name
    building = Building(prefix, types, scope=program)
    keywords: dict[str, Any] = dict(operation.attributes)
    keywords |= record.named(operation.regions)
    with checking(record.name):
        made = lowering(record.lower, building, *record.grouped(operation.operands), **keywords)
    values: tuple[Value, ...] = made if isinstance(made, tuple) else (made,)
    waives = record.waives if record.waives and _holds(record, operation) else ()
    own = {v.name: mine for v, mine in zip(values, operation.results, strict=True)}
    return tuple(
        replace(
            one,
            results=tuple(own.get(value.name, value) for value in one.results),
            waives=waives if one.name == record.twin else (),
        )
        for one in building.operations
    )


def _holds(record: Op, operation: Operation) -> bool:
    """Return whether an operation keeps all conditions of its own op: else it waives nothing."""
    results = tuple(value.type for value in operation.results)
    stated: dict[str, Any] = {"results": results} if record.several else {"result": results[0]}
    with collecting() as found:
        try:
            record.infer(
                *(value.type for value in operation.operands), regions=operation.regions, **stated,
                **dict[str, Any](operation.attributes),
            )  # fmt: skip
        except ConstraintViolation:
            return False
    return not found.ids


def _record(operation: Operation) -> Op | None:
    return OPS.get(operation.name)
