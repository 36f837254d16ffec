"""Programs some of whose values have other types than stated, with the types that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from conformance.transforms.extract import replace_body, replace_results
from reference.interpreter.verify import given_attributes, violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Operation, Program, Region, TensorType, Value
from reference.ops.structure import calls_target
from reference.ops.table import OPS

Replace = Callable[[Operation], Sequence[Operation]]
"""A function that returns the operations in place of an operation, or none if it stays."""


class _NotInferred(Exception):
    """An operation does not take operands or regions of these types."""


def replace_and_infer(program: Program, replacement: Replace) -> Program | None:
    """Return the program with operations of main and of its regions replaced, where the results may
    have other types than the operations after them state.

    These have the types that they infer from their operands and regions. Operations that need a
    stated type keep it, or else its element type in the shape of their first operand. None if an
    operation does not take operands of these types.
    """
    try:
        body = _infer_region(program.main.body, {}, replacement)
    except _NotInferred:
        return None
    return replace_results(replace_body(program, body.operations), body.operations[-1].operands)


def inferred_programs(program: Program, replacement: Replace) -> Iterator[tuple[Program]]:
    """Yield the program by `replace_and_infer`, if it is possible and any operation is replaced."""
    if any(map(replacement, program.walk())):
        whole = replace_and_infer(program, replacement)
        if whole is not None:
            yield (whole,)


def _infer_region(region: Region, around: Mapping[str, Value], replacement: Replace) -> Region:
    own = {value.name for value in region.arguments}
    current = {name: value for name, value in around.items() if name not in own}
    made: list[Operation] = []
    for operation in region.operations:
        for one in replacement(operation) or [operation]:
            inferred = _infer_results(one, current, replacement)
            made.append(inferred)
            current |= {value.name: value for value in inferred.results}
    return replace(region, operations=tuple(made))


def _infer_results(
    operation: Operation, values: Mapping[str, Value], replacement: Replace
) -> Operation:
    other = replace(
        operation,
        operands=tuple(values.get(value.name, value) for value in operation.operands),
        regions=tuple(_infer_region(o, values, replacement) for o in operation.regions),
    )
    record = OPS.get(operation.name)
    if other == operation or record is None:  # a terminator, for example
        return other
    if calls_target(operation):
        raise _NotInferred
    if record.needs_result or record.scoped:
        found = next((one for one in (other, _take_shape(other)) if not violations(one)), None)
        if found is None:
            raise _NotInferred
        return found
    given, regions = given_attributes(other), other.regions
    try:
        types = record.infer(*(value.type for value in other.operands), regions=regions, **given)
    except ConstraintViolation as error:
        raise _NotInferred from error
    several = types if record.several else (types,)
    results = zip(other.results, several, strict=True)
    return replace(other, results=tuple(replace(value, type=of) for value, of in results))


def _take_shape(operation: Operation) -> Operation:
    """Return an operation whose results have the shape of its first operand."""
    shape = operation.operands[0].type
    if not isinstance(shape, TensorType):
        return operation
    results = (
        replace(value, type=replace(value.type, shape=shape.shape))
        for value in operation.results
        if isinstance(value.type, TensorType)
    )
    return replace(operation, results=tuple(results))
