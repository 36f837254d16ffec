"""Lowering of the ops of XlaBuilder and CHLO to operations of StableHLO."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from reference.ir.constraints import ConstraintViolation, collect_violations, name_checked_op
from reference.ir.op import Dialect, Op
from reference.ir.program import Operation, Program, Region, Value
from reference.ops.table import OPS
from reference.ops.xla.building import Building, lower_operands


def lower_program(program: Program, *, keeps: Dialect | None = None) -> Program:
    """Return the program with ops of XlaBuilder and CHLO lowered; itself if it has none.

    Ops of the dialect `keeps` stay: no backend has XlaBuilder's ops, but text may have CHLO's.

    Raises:
        ConstraintViolation: if the operands of such an op cannot be lowered.
    """
    lowered = {one.name for one in program.walk() if _is_lowered(one, keeps)}
    if not lowered:
        return program

    def lower_region(region: Region) -> Region:
        return replace(region, operations=tuple(lower_operations(region.operations)))

    def lower_operations(operations: Sequence[Operation]) -> Iterator[Operation]:
        for operation in operations:
            steps = steps_of(operation, program) if operation.name in lowered else (operation,)
            for one in steps:
                regions = tuple(map(lower_region, one.regions))
                yield replace(one, regions=regions) if regions else one

    functions = tuple(
        replace(function, body=lower_region(function.body)) for function in program.functions
    )
    return replace(program, functions=functions)


def _is_lowered(operation: Operation, keeps: Dialect | None) -> bool:
    record = _record(operation)
    return record is not None and record.lower is not None and record.dialect is not keeps


def steps_of(operation: Operation, program: Program) -> tuple[Operation, ...]:
    """Return the operations that an operation is lowered to: itself if it is not lowered.

    The operation's results are results of the returned operations.

    Raises:
        ConstraintViolation: if its operands cannot be lowered.
    """
    record = _record(operation)
    if record is None or record.lower is None:
        return (operation,)
    types = tuple(value.type for value in operation.results)
    prefix = operation.results[0].name if operation.results else record.name
    building = Building(prefix, types, scope=program)
    keywords: dict[str, Any] = dict(operation.attributes)
    keywords |= record.name_regions(operation.regions)
    with name_checked_op(record.name):
        made = lower_operands(
            record.lower, building, *record.group_operands(operation.operands), **keywords
        )
    values: tuple[Value, ...] = made if isinstance(made, tuple) else (made,)
    own = {v.name: mine for v, mine in zip(values, operation.results, strict=True)}
    steps = (
        replace(one, results=tuple(own.get(value.name, value) for value in one.results))
        for one in building.operations
    )
    if not record.waives or _violated_ids(
        record, operation
    ):  # an op that violates its own constraints waives nothing
        return tuple(steps)
    return tuple(map(partial(_waive_constraints, record), steps))


def _waive_constraints(record: Op, step: Operation) -> Operation:
    """Return an operation that waives the constraints it violates and the op waives."""
    if step.name != record.twin:
        return step
    broken = _violated_ids(OPS[record.twin], step)
    return replace(step, waives=tuple(id_ for id_ in record.waives if id_ in broken))


def _violated_ids(record: Op, operation: Operation) -> tuple[str, ...]:
    """Return the ids of an op's constraints that an operation violates."""
    results = tuple(value.type for value in operation.results)
    stated: dict[str, Any] = {"results": results} if record.several else {"result": results[0]}
    with collect_violations() as found:
        try:
            record.infer(
                *(value.type for value in operation.operands), regions=operation.regions, **stated,
                **dict[str, Any](operation.attributes),
            )  # fmt: skip
        except ConstraintViolation as violation:
            return (*found.ids, violation.id)
    return tuple(found.ids)


def _record(operation: Operation) -> Op | None:
    return OPS.get(operation.name)
