"""Unspecified results of the operations in a body, in lanes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reference.interpreter import quantized
from reference.ir.op import Structure
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.regions import Body
from reference.ir.substitution import replace_operands
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64
from reference.ops.structure import structure_of
from reference.ops.table import OPS
from reference.unspecified.elementwise import ORDER_DIRECTIONS, unspecified_elements
from reference.unspecified.quantization import unspecified_codes
from reference.unspecified.reasons import Unspecified

_PROPAGATES_NAN = frozenset({"abs", "complex", "imag", "negate", "optimization_barrier", "real"})
"""Ops that propagate a NaN operand except for its sign, besides those that rearrange elements."""
_DETERMINED_NAN = frozenset({"bitcast_convert", "constant"})
"""Ops whose NaNs are determined to the bit."""


_MAX_ITERATIONS = 4
"""Maximum number of loop iterations that are examined."""


def unspecified_in_lanes(body: Body, arguments: Sequence[Array]) -> list[Unspecified]:
    """Return the unspecified results of a body's operations on single elements.

    The body is applied to arguments of one shape. Values computed from unspecified results count as
    unspecified. Operations in branches count if the branch is taken; those in loops count in each
    of the first `_MAX_ITERATIONS` iterations. Other operations with regions are not examined.
    """
    region, found = body.region, list[Unspecified]()
    shape = arguments[0].shape
    computed: dict[str, Array] = {}
    before: list[Operation] = []
    for met in _executed_operations(region.operations[:-1]):
        operation = met.operation
        before.append(operation)
        wanted = (*operation.operands, *operation.results)
        if operation.regions or not all(map(_is_single, wanted)):
            continue
        wanted += tuple(value for value, _ in met.conditions)
        part = Region(region.arguments, (*_producers(wanted, before), Operation("return", wanted)))
        values = [value.reshape(shape) for value in body.make_sibling(part).lanes(*arguments)]
        count = len(operation.operands)
        given, result = values[:count], values[count]
        if quantized.is_quantized_operation(operation):
            opened = unspecified_codes(operation, given, result, 0, _unspecified_elements)
        else:
            opened = unspecified_elements(operation, given, result)
            nans = [
                computed.get(value.name, np.zeros((), np.bool_)) for value in operation.operands
            ]
            opened += _nan_dependent(operation, given, nans)
            computed[operation.results[0].name] = _unspecified_nans(operation, given, nans, result)
        reached = np.ones(shape, np.bool_)
        for (_, wanted_value), chosen in zip(met.conditions, values[count + 1 :], strict=True):
            reached &= chosen == wanted_value
        found += [(label, mask & reached) for label, mask in opened]
    return found


def _is_single(value: Value) -> bool:
    return isinstance(value.type, TensorType) and all(size == 1 for size in value.type.shape)


@dataclass(frozen=True, slots=True)
class _ExecutedOperation:
    """An operation that the execution of a body reaches under conditions on values.

    The conditions pair predicates of branches and loops with their required values.
    """

    operation: Operation
    conditions: tuple[tuple[Value, int], ...] = ()


def _executed_operations(
    operations: Sequence[Operation], conditions: tuple[tuple[Value, int], ...] = ()
) -> Iterator[_ExecutedOperation]:
    """Yield the operations; each is preceded by the operations in its regions, with their
    conditions."""
    for operation in operations:
        structure = structure_of(operation)
        if structure is Structure.BRANCHES:
            yield from _branch_operations(operation, conditions)
        elif structure is Structure.LOOPS:
            yield from _loop_operations(operation, conditions)
        yield _ExecutedOperation(operation, conditions)


def _branch_operations(
    operation: Operation, conditions: tuple[tuple[Value, int], ...]
) -> Iterator[_ExecutedOperation]:
    (index,) = operation.operands
    is_truth = isinstance(index.type, TensorType) and index.type.element.is_boolean
    for number, region in enumerate(operation.regions):
        chosen = int(number == 0) if is_truth else number
        yield from _executed_operations(region.operations[:-1], (*conditions, (index, chosen)))


def _loop_operations(
    operation: Operation, conditions: tuple[tuple[Value, int], ...]
) -> Iterator[_ExecutedOperation]:
    """Yield the operations of a loop's condition and body, with unique value names per
    iteration."""
    carried = operation.operands
    for turn in range(_MAX_ITERATIONS):
        ends: list[tuple[Value, ...]] = []
        for region in operation.regions:
            names = zip((value.name for value in region.arguments), carried, strict=True)
            known = dict(names)
            renamed: list[Operation] = []
            for inner in region.operations:
                results = tuple(
                    replace(value, name=f"{value.name}.{turn}") for value in inner.results
                )
                renamed.append(replace(replace_operands(inner, known), results=results))
                old = (value.name for value in inner.results)
                known |= dict(zip(old, results, strict=True))
            yield from _executed_operations(renamed[:-1], conditions)
            ends.append(renamed[-1].operands)
            if len(ends) == 1:  # the condition
                conditions = (*conditions, (ends[0][0], 1))
        carried = ends[1]


def _producers(wanted: Sequence[Value], operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations that these values are computed from."""
    names = {value.name for value in wanted}
    kept: list[Operation] = []
    for operation in reversed(operations):
        if names.intersection(value.name for value in operation.results):
            kept.append(operation)
            names |= {value.name for value in _used_values(operation)}
    return kept[::-1]


def _used_values(operation: Operation) -> Iterator[Value]:
    """Yield the operands of an operation and of the operations in its regions."""
    yield from operation.operands
    for region in operation.regions:
        for inner in region.operations:
            yield from _used_values(inner)


def _unspecified_elements(
    plain: Operation, operands: Sequence[Array], result: Array, _: int
) -> list[Unspecified]:
    return unspecified_elements(plain, operands, result)


# --- Computed NaNs -------------------------------------------------------------------------------


def _unspecified_nans(
    operation: Operation, operands: Sequence[Array], nans: Sequence[Array], result: Array
) -> Array:
    """Return a mask of results that are an unspecified NaN; `nans` are the masks of the operands.

    IEEE 754-2019, 6.2.3, does not require that payloads are propagated, and 6.3 does not specify
    the signs of computed NaNs.
    """
    if operation.name in _DETERMINED_NAN:
        return np.zeros(result.shape, np.bool_)
    if operation.name == "select":
        return _is_nan(result) & np.where(operands[0], nans[1], nans[2])
    record = OPS.get(operation.name)
    if operation.name in _PROPAGATES_NAN or (record is not None and record.rearranges):
        return _is_nan(result) & np.logical_or.reduce(np.broadcast_arrays(*nans))
    return _is_nan(result)


def _nan_dependent(
    operation: Operation, operands: Sequence[Array], nans: Sequence[Array]
) -> list[Unspecified]:
    """Return the reasons why an operation's result depends on which NaN an operand is."""
    if operation.name == "bitcast_convert":
        return [("bits of a NaN that is computed", nans[0])]
    if operation.name != "compare" or operation.attribute("compare_type") != "TOTALORDER":
        return []
    ordered = operation.attribute("comparison_direction") in ORDER_DIRECTIONS
    both = _is_nan(operands[0]) & _is_nan(operands[1])
    return [("total order of a NaN that is computed", (nans[0] | nans[1]) & (ordered | both))]


def _is_nan(array: Array) -> Array:
    element_type = element_type_of(array)
    if element_type.is_complex:
        return np.isnan(array)
    return np.isnan(to_float64(array)) if element_type.is_float else np.zeros(array.shape, np.bool_)
