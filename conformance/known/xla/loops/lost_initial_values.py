"""Loops that start from zeros instead of an initial value.

The TPU's compiler removes the initial value of an array that a loop overwrites slice by slice (pass
while-initializer-removal). It does so, too, if each iteration returns the updated array at the
position of a second array: then some slices of each array are never written. On a TPU they are
memory of any content. The reader of optimised HLO fills such memory with zeros
(conformance/hlo/custom_calls/tpu.py), so the result is known where no device runs.

Source: libtpu 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from conformance.known.xla.memory import zeros
from conformance.transforms.replacing import replace_operations
from conformance.transforms.values import operations_within
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Value
from reference.ops.structure import structure_of

LABEL = "initial value of a loop left out"

_UPDATE = "dynamic_update_slice"


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a loop of that kind, or contains one."""
    return any(map(_lost_arrays, operations_within(operation)))


def rewrite(program: Program) -> Iterator[tuple[Program, ...]]:
    """Yield the program with zeros as initial values of its loops of that kind, if it has any."""
    loops = [one for one in program.walk() if _lost_arrays(one)]
    if loops:
        yield (replace_operations(program, [(one, _start_from_zeros(one)) for one in loops]),)


def _lost_arrays(operation: Operation) -> list[int]:
    """Return the positions of arrays that a loop updates and returns at another position."""
    if structure_of(operation) is not Structure.LOOPS:
        return []
    body = operation.regions[1]
    places = {value.name: number for number, value in enumerate(body.arguments)}
    updated = {
        one.results[0].name: places[one.operands[0].name]
        for one in body.operations
        if one.name == _UPDATE and one.operands[0].name in places
    }
    returned = enumerate(body.operations[-1].operands)
    lost = {updated[value.name] for n, value in returned if updated.get(value.name, n) != n}
    return sorted(lost)


def _start_from_zeros(loop: Operation) -> tuple[Operation, ...]:
    """Return constants of zeros for the lost arrays, and the loop that starts from them."""
    operands, made = [*loop.operands], list[Operation]()
    for number in _lost_arrays(loop):
        memory = Value(f"{loop.results[0].name}.memory{number}", operands[number].type)
        made.append(zeros(memory))
        operands[number] = memory
    return (*made, replace(loop, operands=tuple(operands)))
