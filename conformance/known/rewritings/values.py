"""The backend's values in a program, and predictions of results from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from conformance.transforms.retype import element_of
from conformance.transforms.values import definition_index, foldable_values
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, Value
from reference.ir.types import Array
from reference.numerics.alike import flush_subnormals
from reference.ops.structure import is_constant
from reference.ops.table import OPS


def given_to(operation: Operation, values: Mapping[str, Array]) -> tuple[Array, ...] | None:
    """Return the backend's values of an operation's operands; None if any is unknown."""
    found = tuple(values[one.name] for one in operation.operands if one.name in values)
    return found if len(found) == len(operation.operands) else None


@dataclass(frozen=True)
class ObservedProgram:
    """A single-function program, and the backend's values in it by name."""

    program: Program
    values: Mapping[str, Array]

    @cached_property
    def _makers(self) -> dict[str, int]:
        return definition_index(self.program)

    def maker(self, value: Value) -> Operation | None:
        """Return the operation of main that defines a value."""
        place = self._makers.get(value.name)
        return None if place is None else self.program.main.body.operations[place]

    def is_folded(self, value: Value) -> bool:
        """Return whether a value is a constant to a compiler."""
        return value.name in self._foldable

    def constant(self, value: Value) -> Array | None:
        """Return the value of a constant to a compiler; None for other values."""
        return self.known_value(value) if self.is_folded(value) else None

    def known_value(self, value: Value) -> Array | None:
        """Return the backend's value, or else a constant's value; None without either."""
        array, maker = self.values.get(value.name), self.maker(value)
        if array is None and maker is not None and is_constant(maker):
            (array,) = apply(maker, ())
        return array

    def known_values(self, values: Iterable[Value]) -> tuple[Array, ...] | None:
        """Return the known values; None if any is unknown."""
        found = [self.known_value(value) for value in values]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else None

    def as_result(self, array: Array, value: Value) -> Array:
        """Return a computed array as the program stores it in a value."""
        del value
        return array

    def is_all(self, value: Value, number: float) -> bool:
        """Return whether a value is a constant to a compiler with all elements equal to a
        number.
        """
        constant = self.constant(value)
        return constant is not None and bool((constant == number).all())

    @cached_property
    def _foldable(self) -> frozenset[str]:
        return foldable_values(self.program)


def is_truth_value(shown: ObservedProgram, value: Value) -> bool:
    """Return whether a value is converted from i1, directly or through moves of elements."""
    maker = shown.maker(value)
    while maker is not None and OPS[maker.name].rearranges:
        maker = shown.maker(maker.operands[0])
    if maker is None or OPS[maker.name] is not OPS["convert"]:
        return False
    of = element_of(maker.operands[0])
    return of is not None and of.is_boolean


@dataclass(frozen=True, slots=True)
class ValuePrediction:
    """A prediction of an operation's result, with its possible error.

    `undefined` are the elements for which generated code reads no defined value: they may have any
    value, and another value when the program runs again.
    """

    result: Array
    error: Array | None = None
    undefined: Array | bool = False
    ulps: float | None = None


Predictions = Iterator[ValuePrediction]
"""Possible results of an operation."""


def flush_prediction(predicted: ValuePrediction) -> ValuePrediction:
    """Return the prediction with subnormal results flushed to zero."""
    return ValuePrediction(flush_subnormals(predicted.result), predicted.error)
