"""Fragments: pieces of programs, and type inference after a change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from generators.chains.chain import LARGEST
from generators.chains.links import can_be_in_chain
from reference.interpreter.verify import check, given_attributes
from reference.ir.constraints import ConstraintViolation
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
)
from reference.ir.substitution import replace_operands
from reference.ir.types import ElementType
from reference.ops.structure import is_constant, named_functions
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program

Fragment = Program
"""A program of one function, whose parameters are the outer values of its operations."""

MOST_ELEMENTS = 2 * LARGEST
"""Largest number of elements of a value of a fragment."""

MOST_WORK = 1 << 22
"""Largest product of an operation's result elements and window elements."""


def is_plain(of: ValueType) -> bool:
    """Return whether a type may occur in a chain: a tensor of known sizes, not quantized."""
    return isinstance(of, TensorType) and of.is_static and isinstance(of.element_type, ElementType)


def is_usable(fragment: Fragment) -> bool:
    """Return whether a fragment is valid, with ops that may be in a chain, and small values."""
    values = [*fragment.main.arguments]
    for operation in fragment.main.body.operations[:-1]:
        record = OPS.get(operation.name)
        if record is None or not (is_constant(operation) or can_be_in_chain(record)):
            return False
        values += operation.results
    if not all(is_plain(value.type) and _size(value.type) <= MOST_ELEMENTS for value in values):
        return False
    if len(fragment.functions) != 1 or any(map(named_functions, fragment.walk())):
        return False  # joining a fragment to a program drops functions
    if not _is_well_formed(fragment) or check(fragment):
        return False
    inside = tuple(lower_program(fragment).walk())
    return _has_constant_sizes(inside) and not any(map(_is_expensive, inside))


def _has_constant_sizes(operations: Sequence[Operation]) -> bool:
    """Return whether all operands that determine result sizes are constants.

    Parameters may have any value.
    """
    constants = {operation.results[0].name for operation in operations if is_constant(operation)}
    for operation in operations:
        record = OPS.get(operation.name)
        if record is None or not record.size_operands:
            continue
        names = zip(record.operands, operation.operands, strict=True)
        if any(
            name in record.size_operands and value.name not in constants for name, value in names
        ):
            return False
    return True


def _is_expensive(operation: Operation) -> bool:
    """Return whether evaluation may take very long or all memory.

    Sizes of windows have no other bound, because inputs may be padded.
    """
    windows = [
        math.prod(value)
        for _, value in operation.attributes
        if isinstance(value, tuple) and all(type(size) is int and size > 0 for size in value)
    ]
    sizes = [_size(value.type) for value in operation.results if is_plain(value.type)]
    return max(windows, default=1) * max(sizes, default=0) > MOST_WORK


def _is_well_formed(fragment: Fragment) -> bool:
    """Return whether every value of main is defined once, and before its uses."""
    known = {argument.name for argument in fragment.main.arguments}
    for operation in fragment.main.body.operations:
        made = {value.name for value in operation.results}
        taken = {value.name for value in _used_values(operation)}
        if made & known or not taken <= known:
            return False
        known |= made
    return True


def _used_values(operation: Operation) -> Iterator[Value]:
    """Yield the outer values that an operation uses, including those in its regions."""
    yield from operation.operands
    for region in operation.regions:
        own = {value.name for value in region.arguments}
        for inner in region.operations:
            yield from (value for value in _used_values(inner) if value.name not in own)
            own |= {value.name for value in inner.results}


def _size(of: ValueType) -> int:
    assert isinstance(of, TensorType)
    return math.prod(of.static_shape)


def replace_body(fragment: Fragment, operations: tuple[Operation, ...]) -> Fragment:
    """Return the fragment with other operations, the same results, and the parameters they need."""
    *inside, end = operations
    made = {value.name for one in inside for value in one.results}
    arguments = tuple(argument for argument in fragment.main.arguments if argument.name not in made)
    types = tuple(value.type for value in end.operands)
    main = Function("main", Region(arguments, (*inside, end)), types)
    return replace(fragment, functions=(main,))


def infer_types(fragment: Fragment) -> Fragment | None:
    """Return the fragment with inferred result types; None if inference fails.

    If an op leaves its result type to the program, the stated type is kept.
    """
    known: dict[str, Value] = {}
    operations: list[Operation] = []
    for operation in fragment.main.body.operations[:-1]:
        taking = replace_operands(operation, known)
        record = OPS[operation.name]
        results = taking.results
        if not record.needs_result and not is_constant(operation):
            try:
                found = record.infer(
                    *(value.type for value in taking.operands),
                    regions=taking.regions,
                    **given_attributes(taking),
                )
            except ConstraintViolation:
                return None
            types: tuple[ValueType, ...] = found if record.several else (found,)
            if len(types) != len(results):
                return None
            results = tuple(Value(value.name, of) for value, of in zip(results, types, strict=True))
        operations.append(replace(taking, results=results))
        known |= {value.name: value for value in results}
    end = replace_operands(fragment.main.body.operations[-1], known)
    return replace_body(fragment, (*operations, end))


def rename_values(fragment: Fragment, prefix: str) -> Fragment:
    """Return the fragment with new names for all values, also in regions."""
    names: dict[str, str] = {}

    def value(of: Value) -> Value:
        return Value(names.setdefault(of.name, f"{prefix}{len(names)}"), of.type)

    def region(of: Region) -> Region:
        return Region(tuple(map(value, of.arguments)), tuple(map(operation, of.operations)))

    def operation(of: Operation) -> Operation:
        return replace(
            of,
            operands=tuple(map(value, of.operands)),
            results=tuple(map(value, of.results)),
            regions=tuple(map(region, of.regions)),
        )

    main = fragment.main
    return replace(fragment, functions=(Function("main", region(main.body), main.result_types),))


def replace_parameters(fragment: Fragment, others: Mapping[str, Value]) -> tuple[Operation, ...]:
    """Return the operations of a fragment without its return, with parameters replaced."""
    return tuple(
        replace_operands(operation, others) for operation in fragment.main.body.operations[:-1]
    )
