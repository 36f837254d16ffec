"""Checks of operations against the constraints of their ops."""

from __future__ import annotations

from typing import Any

from reference.ir.constraints import (
    ConstraintViolation,
    collect_violations,
    name_checked_op,
    restate_ids,
)
from reference.ir.program import Dense, Operation, Program, TensorType
from reference.ir.types import Array, ElementType
from reference.ops.quantization import violated_type_constraints
from reference.ops.structure import calls_target, is_constant
from reference.ops.table import OPS, Op

IGNORED_ATTRIBUTES = frozenset({"result_accuracy"})
"""Attributes about the accuracy of a backend, irrelevant to correctly rounded results."""


def given_attributes(operation: Operation) -> dict[str, Any]:
    """Return the attributes that the op's semantics takes, without other dialects' attributes."""
    record = OPS.get(operation.name)
    if record is not None and calls_target(operation):
        return {name: value for name, value in operation.attributes if name in record.attributes}
    ignored = IGNORED_ATTRIBUTES if record is None else IGNORED_ATTRIBUTES | record.metadata
    return {
        name: value
        for name, value in operation.attributes
        if name not in ignored and "." not in name
    }


def stated_results(semantics: Op, operation: Operation) -> dict[str, Any]:
    """Return the result types as the op's functions take them."""
    types = tuple(value.type for value in operation.results)
    return {"results": types} if semantics.several else {"result": types[0]}


def violations(operation: Operation, program: Program | None = None) -> tuple[str, ...]:
    """Return the ids of the constraints that an operation violates, given its stated types.

    The id is "operands", "attributes" or "result" if operands, attributes or results do not even
    fit the op. If `program` is given, constraints on called functions and on values of constant
    operands are checked too.
    """
    semantics = OPS.get(operation.name)
    if semantics is None:
        return ()
    if len(operation.results) != 1 and not semantics.several:
        return ("result",)
    waived = dict.fromkeys(operation.waives, "")
    with collect_violations() as found, restate_ids(waived):
        try:
            semantics.infer(
                *(operand.type for operand in operation.operands),
                regions=operation.regions,
                scope=program,
                **stated_results(semantics, operation),
                **given_attributes(operation),
            )
            if semantics.check_values and program is not None and not found.ids:
                with name_checked_op(semantics.name):
                    values = _constants(operation, program)
                    attributes = given_attributes(operation)
                    semantics.check_values(*semantics.group_operands(values), **attributes)
        except ConstraintViolation as violation:
            return (*found.ids, violation.id)
    return tuple(found.ids)


def _constants(operation: Operation, program: Program) -> list[Array | None]:
    """Return the values of an operation's operands; None for operands that are not constants."""
    known: dict[str, Dense] = {}
    for function in program.functions:
        inside = list(Program((function,)).walk())
        if any(one is operation for one in inside):
            for one in inside:
                value = one.attribute("value") if is_constant(one) else None
                if isinstance(value, Dense) and isinstance(value.type.element_type, ElementType):
                    known[one.results[0].name] = value
    return [
        known[operand.name].array if operand.name in known else None
        for operand in operation.operands
    ]


def check(program: Program) -> list[tuple[Operation, tuple[str, ...]]]:
    """Return the operations of a program that violate constraints, each with the violated ids.

    A quantized type of its operands or results that violates a constraint on quantized types adds
    an id such as "quantized type C7".
    """
    broken = (
        (operation, (*violations(operation, program), *_violated_type_constraints(operation)))
        for operation in program.walk()
    )
    return [(operation, ids) for operation, ids in broken if ids]


def _violated_type_constraints(operation: Operation) -> tuple[str, ...]:
    types = (value.type for value in (*operation.operands, *operation.results))
    ids = (
        id_ for of in types if isinstance(of, TensorType) for id_ in violated_type_constraints(of)
    )
    return tuple(dict.fromkeys(f"quantized type {id_}" for id_ in ids))


def explain_failure(operation: Operation, problem: object) -> str:
    """Return the violated constraints, which explain a failure better than numpy, or the
    problem."""
    ids = violations(operation)
    return f"breaks {', '.join(ids)}" if ids else str(problem)
