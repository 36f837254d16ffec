"""Programs that are rewritten wrongly before they run, in main and in all regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from reference.ir.program import Operation, Program, Region, Value
from reference.ops.structure import is_constant


def constants_multiplied_first(program: Program) -> Program:
    """Return the program with x (c d) for (x c) d, where c and d are constants."""
    return replace(
        program,
        functions=tuple(
            replace(function, body=_regroup(function.body, {})) for function in program.functions
        ),
    )


def _regroup(region: Region, around: Mapping[str, Operation]) -> Region:
    makers, made = dict(around), list[Operation]()
    for operation in region.operations:
        inner = tuple(_regroup(each, makers) for each in operation.regions)
        made += _product(replace(operation, regions=inner), makers)
        makers |= {value.name: operation for value in operation.results}
    return replace(region, operations=tuple(made))


def _product(one: Operation, makers: Mapping[str, Operation]) -> list[Operation]:
    """Return an operation, or the two operations that replace it."""
    before = makers.get(one.operands[0].name) if one.name == "multiply" else None
    if before is None or before.name != "multiply":
        return [one]
    (x, c), d = before.operands, one.operands[1]
    if not (_is_constant(c, makers) and _is_constant(d, makers)):
        return [one]
    inner = replace(one.results[0], name=f"{one.results[0].name}.constants")
    return [
        replace(one, operands=(c, d), results=(inner,)),
        replace(one, operands=(x, inner)),
    ]


def _is_constant(value: Value, makers: Mapping[str, Operation]) -> bool:
    maker = makers.get(value.name)
    return maker is not None and is_constant(maker)
