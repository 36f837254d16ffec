"""Programs some of whose values have other types than stated, with the types that follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from conformance.transforms.extract import with_body, with_results
from reference.interpreter.verify import given_attributes, violations
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.substitution import replace_operands
from reference.ops.structure import calls_target
from reference.ops.table import OPS


def with_inferred_types(program: Program, operations: Iterable[Operation]) -> Program | None:
    """Return the program with other operations in main, whose results may have other types than
    the operations after them state.

    These have the types that they infer from their operands. Operations that need a stated type
    keep it, or else its element type in the shape of their first operand. None if an operation does
    not take operands of these types, or has a region that uses them.
    """
    made: list[Operation] = []
    current: dict[str, Value] = {}
    for operation in operations:
        inferred = _inferred(operation, current)
        if inferred is None:
            return None
        made.append(inferred)
        current |= {value.name: value for value in inferred.results}
    ends = program.main.body.operations[-1].operands
    whole = with_body(program, (*made, program.main.body.operations[-1]))
    return with_results(whole, [current.get(value.name, value) for value in ends])


def _inferred(operation: Operation, values: dict[str, Value]) -> Operation | None:
    other = replace_operands(operation, values)
    if other == operation:
        return operation
    record = OPS.get(operation.name)
    if record is None or other.regions != operation.regions or calls_target(operation):
        return None
    if record.needs_result or record.scoped:
        return next((one for one in (other, _in_shape(other)) if not violations(one)), None)
    given, regions = given_attributes(other), other.regions
    try:
        types = record.infer(*(value.type for value in other.operands), regions=regions, **given)
    except ConstraintViolation:
        return None
    several = types if record.several else (types,)
    results = zip(other.results, several, strict=True)
    return replace(other, results=tuple(replace(value, type=of) for value, of in results))


def _in_shape(operation: Operation) -> Operation:
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
