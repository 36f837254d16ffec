"""Ops that StableHLO lacks, written as composites, and read back.

A composite has a decomposition, a function of the program: a backend that knows the name may
implement it natively, and every other backend calls the function. A composite is read back as the
op only if its decomposition is exactly the op's own; otherwise the decomposition is its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from reference.ir.constraints import ConstraintViolation, name_checked_op
from reference.ir.op import Composite
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    Value,
    ValueType,
    attributes,
    tensor_of,
)
from reference.ops.structure import named_functions
from reference.ops.table import OPS
from reference.ops.xla.building import Building, lower_operands

_MNEMONIC = "composite"


def write_composites(program: Program) -> Program:
    """Return the program with ops that StableHLO lacks written as composites; itself if it has
    none.

    Raises:
        ConstraintViolation: if the operands of such an op cannot be lowered.
    """
    if not any(_composite_of(operation) for operation in program.walk()):
        return program
    work = _CompositeWriter({function.name for function in program.functions})
    functions = [replace(one, body=work.region(one.body)) for one in program.functions]
    return replace(program, functions=(*functions, *work.made.values()))


def _composite_of(operation: Operation) -> Composite | None:
    record = OPS.get(operation.name)
    return None if record is None else record.composite


@dataclass(slots=True)
class _CompositeWriter:
    """The names of a program's functions, and the decompositions made so far, by operation."""

    names: set[str]
    made: dict[Operation, Function] = field(default_factory=dict[Operation, Function])

    def region(self, region: Region) -> Region:
        """Return a region with ops that StableHLO lacks written as composites."""
        return replace(region, operations=tuple(map(self._operation, region.operations)))

    def _operation(self, operation: Operation) -> Operation:
        composite = _composite_of(operation)
        if composite is None:
            regions = tuple(map(self.region, operation.regions))
            return replace(operation, regions=regions) if regions else operation
        operands = tuple(operation.operands[place] for place in composite.order)
        (result,) = map(tensor_of, operation.results)
        said = composite.states(result, **dict(operation.attributes))
        given = attributes(
            name=composite.name, composite_attributes=said, decomposition=self._function(operation)
        )
        return Operation(_MNEMONIC, operands, operation.results, given)

    def _function(self, operation: Operation) -> str:
        """Return the name of the decomposition, shared by all operations of the same types."""
        alike = _anonymous(operation)
        if alike not in self.made:
            composite = _composite_of(operation)
            assert composite is not None
            name, number = composite.name, 0
            while name in self.names:
                number += 1
                name = f"{composite.name}_{number}"
            self.names.add(name)
            self.made[alike] = decomposition(alike, name)
        return self.made[alike].name


def _anonymous(operation: Operation) -> Operation:
    """Return the operation with canonical value names, equal for all such operations."""
    operands = (Value(f"a{n}", operand.type) for n, operand in enumerate(operation.operands))
    results = (Value(f"r{n}", result.type) for n, result in enumerate(operation.results))
    return replace(operation, operands=tuple(operands), results=tuple(results))


def decomposition(operation: Operation, name: str) -> Function:
    """Return the decomposition function of an operation that is written as a composite.

    Raises:
        ConstraintViolation: if its operands cannot be lowered.
    """
    record, composite = OPS[operation.name], _composite_of(operation)
    assert composite is not None
    types = tuple(value.type for value in operation.results)
    building, given = Building("v", types), dict[str, Any](operation.attributes)
    arguments = tuple(
        Value(f"a{n}", operation.operands[place].type) for n, place in enumerate(composite.order)
    )
    operands = sorted(zip(composite.order, arguments, strict=True), key=itemgetter(0))
    with name_checked_op(record.name):
        made: Value = lower_operands(
            composite.decompose, building, *(v for _, v in operands), **given
        )
    end = Operation("return", (made,))
    return Function(name, Region(arguments, (*building.operations, end)), types)


# -- reading ----------------------------------------------------------------------------------


def read_composites(program: Program) -> Program:
    """Return the program with composites replaced by the ops they represent; itself if none.

    Functions without remaining references are dropped.
    """
    named = {one.composite.name: op for op, one in OPS.items() if one.composite}
    composites = [operation for operation in program.walk() if operation.name == _MNEMONIC]
    read = {
        id(composite): found for composite in composites
        if (op := named.get(str(composite.attribute("name"))))
        and (found := _read(composite, op, program))
    }  # fmt: skip
    if not read:
        return program
    functions = [
        replace(function, body=_replace_composites(function.body, read))
        for function in program.functions
    ]
    gone = {
        composite.attribute("decomposition") for composite in composites if id(composite) in read
    }
    used = {name for function in functions for name in _references(function.body)}
    kept = tuple(
        function for function in functions if function.name not in gone or function.name in used
    )
    return replace(program, functions=kept)


def _replace_composites(region: Region, read: dict[int, Operation]) -> Region:
    operations = [
        read.get(id(operation))
        or replace(
            operation,
            regions=tuple(_replace_composites(inner, read) for inner in operation.regions),
        )
        for operation in region.operations
    ]
    return replace(region, operations=tuple(operations))


def _references(region: Region) -> Iterator[str]:
    for operation in region.operations:
        yield from named_functions(operation)
        for inner in operation.regions:
            yield from _references(inner)


def _read(operation: Operation, op: str, program: Program) -> Operation | None:
    """Return the op that a composite represents; None if the decomposition is not the op's."""
    called = operation.attribute("decomposition")
    function = next((one for one in program.functions if one.name == called), None)
    if function is None or operation.regions or operation.attribute("version", 0):
        return None
    try:
        made = _restore_op(operation, op)
        return (
            made if _canonical_form(decomposition(made, "")) == _canonical_form(function) else None
        )
    except (ConstraintViolation, AssertionError, KeyError, TypeError, ValueError):
        return None  # not even the operands and attributes of the op


def _restore_op(operation: Operation, op: str) -> Operation:
    """Return the op that a composite represents; the composite has the op's attributes and no
    others.

    Raises:
        ConstraintViolation: if operands and attributes break a constraint of the op.
        KeyError, TypeError, ValueError, AssertionError: if the op does not have these attributes.
    """
    composite, said = OPS[op].composite, operation.attribute("composite_attributes", ())
    assert composite is not None
    assert isinstance(said, tuple)
    pairs: Any = said
    places = [composite.order.index(number) for number in range(len(operation.operands))]
    operands = tuple(operation.operands[place] for place in places)
    types = tuple(map(tensor_of, operands))
    (result,) = map(tensor_of, operation.results)
    given = composite.reads(types, result, dict(pairs))
    OPS[op].infer(*types, result=result, **given)
    if dict(composite.states(result, **given)) != dict(pairs):
        raise ValueError(f"{pairs} of {composite.name}")
    return Operation(op, operands, operation.results, attributes(**given))


def _canonical_form(function: Function) -> tuple[Region, tuple[ValueType, ...]]:
    """Return a function without its name, and with values named by their index."""
    values = [
        *function.arguments,
        *(v for operation in function.body.operations for v in operation.results),
    ]
    numbered = {value.name: Value(str(n), value.type) for n, value in enumerate(values)}

    def rename_values(some: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(numbered[value.name] for value in some)

    operations = tuple(
        replace(
            operation,
            operands=rename_values(operation.operands),
            results=rename_values(operation.results),
        )
        for operation in function.body.operations
    )
    return Region(rename_values(function.arguments), operations), function.result_types
