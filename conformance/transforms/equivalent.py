"""Equivalent programs that a compiler treats differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from conformance.transforms.extract import replace_main
from conformance.transforms.values import can_be_result
from reference.ir.program import Dense, Operation, Program, Region, TensorType, Value
from reference.ir.substitution import replace_operands
from reference.ir.types import Array, ElementType
from reference.ops.structure import is_constant

Given = tuple[Program, tuple[Array, ...]]
"""A program and its inputs."""


def turn_constants_into_parameters(program: Program, inputs: Sequence[Array]) -> Given | None:
    """Return the program that takes the constants of main as parameters; None without constants."""
    kept: list[Operation] = []
    parameters: list[Value] = []
    arrays: list[Array] = []
    for operation in program.main.body.operations:
        value = operation.attribute("value")
        if (
            is_constant(operation)
            and isinstance(value, Dense)
            and isinstance(value.type.element_type, ElementType)
        ):
            parameters.append(operation.results[0])
            arrays.append(value.array)
        else:
            kept.append(operation)
    if not parameters:
        return None
    body = Region((*program.main.arguments, *parameters), tuple(kept))
    main = replace(program.main, body=body)
    return replace_main(program, main), (*inputs, *arrays)


def turn_inputs_into_constants(program: Program, inputs: Sequence[Array]) -> Given | None:
    """Return the program with its inputs as constants of main; None without parameters.

    Return None, too, if an argument has a type that constants cannot be written in here.
    """
    written: list[Operation] = []
    for argument, array in zip(program.main.arguments, inputs, strict=True):
        of = argument.type
        if not (isinstance(of, TensorType) and of.is_static):
            return None
        if not isinstance(of.element_type, ElementType):
            return None
        value = Dense.of(array, of)
        written.append(Operation("constant", (), (argument,), attributes=(("value", value),)))
    if not written:
        return None
    body = Region((), (*written, *program.main.body.operations))
    return replace_main(program, replace(program.main, body=body)), ()


def insert_barriers(program: Program) -> Program | None:
    """Return the program with a barrier after each operation of main; None if main has a single
    operation.
    """
    *operations, end = program.main.body.operations
    if sum(not is_constant(operation) for operation in operations) < 2:
        return None
    others: dict[str, Value] = {}
    written: list[Operation] = []
    for operation in operations:
        written.append(replace_operands(operation, others))
        results = tuple(filter(can_be_result, operation.results))
        if results:
            behind = tuple(Value(f"behind_{value.name}", value.type) for value in results)
            written.append(Operation("optimization_barrier", results, behind))
            others |= {result.name: other for result, other in zip(results, behind, strict=True)}
    body = replace(program.main.body, operations=(*written, replace_operands(end, others)))
    return replace_main(program, replace(program.main, body=body))
