"""Unrounded values, moved by operations that do not store them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from conformance.known.rewritings.values import ObservedProgram
from conformance.transforms.retype import with_element_type
from conformance.transforms.values import static_element_type
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, Array
from reference.numerics.unrounded import UnroundedNumbers
from reference.ops.table import OPS

CONTRACTED = "product taken into a sum unrounded"

_INDEX = ELEMENT_TYPES["si64"]

_STORES = ("dynamic_update_slice", "sort")
"""Ops that move elements after these are stored, and so rounded."""


@dataclass(frozen=True)
class UnroundedTerm:
    """An unrounded value; with the possible error of the functions in it, and its class.

    A value of the class QUOTIENT, or of another rewriting, may differ from the program's.
    """

    value: UnroundedNumbers
    error: Array
    label: str = CONTRACTED

    def take(self, places: Array) -> UnroundedTerm:
        """Return the values at these flat indices, in the indices' shape."""
        error = np.broadcast_to(self.error, self.value.high.shape).reshape(-1)
        return replace(self, value=self.value.take(places), error=error[places])


def moved_operands(operation: Operation) -> tuple[Value, ...]:
    """Return the operands whose elements are the results of an operation, unchanged."""
    record, operands = OPS[operation.name], operation.operands
    if not record.moves_elements or operation.name in _STORES:
        return ()
    carries = range(len(operands)) if record.carries is None else record.carries
    return tuple(operands[number] for number in carries)


def positions(
    shown: ObservedProgram, operation: Operation, carried: Sequence[Value]
) -> Array | None:
    """Return the flat position of each element of a result among the elements of all operands that
    are moved; None if unknown.
    """
    if not all(map(static_element_type, (*operation.operands, *operation.results))):
        return None
    given: list[Array] = []
    start = 0
    for value in operation.operands:
        array = shown.known_value(value)
        if value in carried:
            shape = tensor_of(value).static_shape
            array = np.arange(start, start + prod(shape), dtype=np.int64).reshape(shape)
            start += array.size
        if array is None:
            return None
        given.append(array)
    operands = tuple(
        with_element_type(one, _INDEX) if one in carried else one for one in operation.operands
    )
    results = tuple(with_element_type(one, _INDEX) for one in operation.results)
    try:
        (found,) = apply(replace(operation, operands=operands, results=results), given)
    except EvaluationError:
        return None
    return found


def join_parts(parts: Sequence[UnroundedTerm], values: Sequence[Value]) -> UnroundedTerm:
    """Return the elements of several values, flat. Parts are broadcast to the values' shapes."""
    shapes = [tensor_of(value).static_shape for value in values]
    high, low, error = (
        np.concatenate(
            [np.broadcast_to(*one).reshape(-1) for one in zip(arrays, shapes, strict=True)]
        )
        for arrays in (
            [part.value.high for part in parts],
            [part.value.low for part in parts],
            [part.error for part in parts],
        )
    )
    labels = [part.label for part in parts if part.label != CONTRACTED]
    return UnroundedTerm(UnroundedNumbers(high, low), error, (*labels, CONTRACTED)[0])
