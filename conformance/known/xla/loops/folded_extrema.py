"""Extrema of constants in loops and maps, with zeros of both signs treated as equal.

XLA replaces a loop of one iteration, and a map, by its body. Then it folds the extrema of constants
in that body. Folding returns one operand where two numbers are equal, whatever their signs.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from conformance.known.rewritings.identities import ZEROS
from conformance.transforms.replacing import replace_operations
from conformance.transforms.values import nested_operations
from reference.ir.monoid import MAXIMUM, MINIMUM
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Region, TensorType, Value, attributes
from reference.ir.types import BOOLEAN
from reference.ops.structure import is_constant, structure_of
from reference.ops.table import OPS

LABEL = f"{ZEROS} in a body"

_APPLIED = frozenset({"map", "mhlo.scan"})
"""Ops that apply a region to operands, besides loops."""
_CLAMP = "clamp"


def concerns(operation: Operation) -> bool:
    """Return whether an operation contains an extremum in a loop or a map."""
    return any(map(_is_extremum, nested_operations(operation)))


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with one operand in place of an extremum of equal constants in bodies: the
    first operand, then the second.
    """
    found = [one for each in program.functions for one in _folded_extrema(each.body, set(), False)]
    if found:
        for place in range(2):
            replaced = [(one, tuple(_choose_equal_operand(one, place))) for one in found]
            yield (replace_operations(program, replaced),)


def _folded_extrema(region: Region, outside: Set[str], is_body: bool) -> Iterator[Operation]:
    """Yield the extrema of folded values in bodies; `outside` are the folded values around."""
    folded = set(outside)
    for operation in region.operations:
        given = [value.name in folded for value in operation.operands]
        is_applied = structure_of(operation) is Structure.LOOPS or operation.name in _APPLIED
        for inner in operation.regions:
            pairs = zip(inner.arguments, given, strict=False) if is_applied else ()
            names = {argument.name for argument, is_folded in pairs if is_folded}
            yield from _folded_extrema(inner, folded | names, is_body or is_applied)
        if is_constant(operation) or (given and all(given) and _is_simple(operation)):
            folded |= {value.name for value in operation.results}
            if is_body and _is_extremum(operation):
                yield operation


def _is_simple(operation: Operation) -> bool:
    """Return whether an operation computes its results from its operands alone."""
    return not operation.regions and structure_of(operation) is Structure.COMPUTES


def _is_extremum(operation: Operation) -> bool:
    """Return whether an operation is a maximum, a minimum or a clamp of floating-point numbers of
    one shape.
    """
    record = OPS.get(operation.name)
    types = {value.type for value in (*operation.operands, *operation.results)}
    of = types.pop() if len(types) == 1 else None
    is_float = isinstance(of, TensorType) and of.stored.is_float
    is_one = record is not None and record.monoid in (MAXIMUM, MINIMUM)
    return is_float and (is_one or operation.name == _CLAMP)


def _choose_equal_operand(extremum: Operation, place: int) -> Iterator[Operation]:
    """Yield operations that return the operand at `place` where both are equal."""
    (result,) = extremum.results
    if extremum.name != _CLAMP:
        yield from _select_operand(extremum.name, extremum.operands, result, place)
        return
    least, operand, most = extremum.operands
    greater = replace(result, name=f"{result.name}.greater")
    yield from _select_operand(MAXIMUM.name, (operand, least), greater, place)
    yield from _select_operand(MINIMUM.name, (most, greater), result, place)


def _select_operand(
    name: str, operands: tuple[Value, ...], result: Value, place: int
) -> Iterator[Operation]:
    assert isinstance(result.type, TensorType)
    equal = Value(f"{result.name}.equal", replace(result.type, element_type=BOOLEAN[0]))
    right = replace(result, name=f"{result.name}.right")
    yield Operation("compare", operands, (equal,), attributes(comparison_direction="EQ"))
    yield Operation(name, operands, (right,))
    yield Operation("select", (equal, operands[place], right), (result,))
