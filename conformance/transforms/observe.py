"""Programs in which evaluation hooks see the arguments of regions."""

from __future__ import annotations

from dataclasses import replace

from conformance.transforms.extract import replace_main
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ops.structure import is_inside


def insert_region_barriers(program: Program) -> Program:
    """Return the program with a barrier on the arguments of each region of main, so that hooks see
    them as results of an operation: the state of a loop, the shards of a manual computation.
    """
    main = program.main
    body = replace(main.body, operations=tuple(map(_observe_operation, main.body.operations)))
    return replace_main(program, replace(main, body=body))


def _observe_operation(operation: Operation) -> Operation:
    if not is_inside(operation):
        return operation
    return replace(operation, regions=tuple(map(_observed_region, operation.regions)))


def _observed_region(region: Region) -> Region:
    operations = tuple(map(_observe_operation, region.operations))
    seen = tuple(a for a in region.arguments if isinstance(a.type, TensorType))
    if not seen:
        return replace(region, operations=operations)
    inner = tuple(
        Value(f"{a.name}.in", a.type) if a in seen else a for a in region.arguments
    )  # fmt: skip
    given = tuple(Value(f"{a.name}.in", a.type) for a in seen)
    return Region(inner, (Operation("optimization_barrier", given, seen), *operations))
