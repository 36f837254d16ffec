"""Numbers of narrow types that are subnormal in f32, and flushed there.

A compiler without instructions for a narrow type computes in f32. The smallest number of f8E8M0FNU,
2^-127, is subnormal in f32. Instructions that take denormals for zeros make it zero, as an operand
or as a result. f8E8M0FNU has no zero: the result is NaN there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.transforms.retype import with_element_type
from reference.interpreter.evaluate import apply
from reference.ir.program import (
    Dense,
    Operation,
    Region,
    TensorType,
    Value,
    ValueType,
    tensor_of,
)
from reference.ir.types import BOOLEAN, ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.alike import flush_subnormals, is_subnormal
from reference.numerics.rounding import round_to, to_float64
from reference.ops.folds import folding
from reference.ops.folds.reduction import FOLDS
from reference.ops.structure import is_constant
from reference.unspecified.reduction import SCHEDULES, decompose_reduction

LABEL = "flushed: numbers of f32"
"""The class of results of f32 arithmetic that flushes subnormals."""

Results = tuple[Array, ...]

_F32 = ELEMENT_TYPES["f32"]


def is_narrow(element_type: ElementType) -> bool:
    """Return whether a type narrower than f32 has normal numbers that are subnormal in f32."""
    if not element_type.is_float or element_type.bits >= _F32.bits:
        return False
    return element_type.float_format.smallest_normal < _F32.float_format.smallest_normal


def are_normal(types: Iterable[ElementType]) -> bool:
    """Return whether all numbers of the float types among these are normal in f32; False if there
    is no float type.
    """
    formats = [of.float_format for of in types if of.is_float or of.is_complex]
    least = _F32.float_format.smallest_normal
    return bool(formats) and all(one.smallest >= least for one in formats)


def may_flush(operands: Sequence[Any], results: Sequence[Any]) -> bool:
    """Return whether an operand or a result of a narrow type has a number that is subnormal in
    f32.
    """
    return any(_is_tiny(one).any() for one in (*operands, *results) if _is_taken(one))


def flushed_results(operation: Operation, operands: Sequence[Array]) -> Iterator[Results]:
    """Yield the results that f32 and flushing may give in place of the right results.

    A body may keep f32 from its first step to its last, or round each step to the narrow type.

    Raises:
        EvaluationError: if the operation cannot be evaluated so.
    """
    wide = [
        flush_subnormals(to_f32(operand)) if _is_taken(operand) else operand for operand in operands
    ]
    types = [value.type for value in operation.results]
    yield _all_narrow(apply(_WideningWriter().written(operation), wide), types)
    if not operation.regions:
        return
    rounded = _WideningWriter(rounds=True).written(operation)
    yield _all_narrow(apply(rounded, wide), types)
    if operation.name in FOLDS:
        parts = decompose_reduction(rounded, wide)
        given = (parts.body.lanes, parts.values, parts.inits, parts.leaves)
        for schedule in SCHEDULES:
            yield _all_narrow(folding.fold_by_schedule(*given, schedule), types)


def _all_narrow(results: Results, types: Sequence[ValueType]) -> Results:
    return tuple(
        to_narrow_type(result, of) if (of := _taken_element(to)) is not None else result
        for result, to in zip(results, types, strict=True)
    )


def _is_taken(value: object) -> bool:
    return isinstance(value, np.ndarray) and is_narrow(element_type_of(value))


def to_f32(array: Array) -> Array:
    """Return numbers of a narrow type as the same numbers in f32."""
    return to_float64(array).astype(np.float32)  # exact


def to_narrow_type(array: Array, element_type: ElementType) -> Array:
    """Return results in f32, with subnormal numbers flushed, as numbers of a narrow type."""
    return round_to(to_float64(flush_subnormals(array)), element_type)


def _is_tiny(array: Array) -> Array:
    return is_subnormal(to_f32(array))


def _taken_element(of: object) -> ElementType | None:
    """Return the element type of a tensor type if it is narrow (see `is_narrow`), else None."""
    element = of.element_type if isinstance(of, TensorType) else None
    return element if isinstance(element, ElementType) and is_narrow(element) else None


@dataclass(frozen=True, slots=True)
class _WideningWriter:
    """Writer of operations on f32 in place of narrow types, also in regions.

    If it `rounds`, what is computed in a region is flushed and rounded to the narrow type.
    """

    rounds: bool = False
    numbers: Iterator[int] = field(default_factory=count)

    def written(self, operation: Operation) -> Operation:
        """Return an operation of main on f32 values, also in its regions."""
        constant = operation.attribute("value")
        if isinstance(constant, Dense) and _taken_element(constant.type) is not None:
            there = flush_subnormals(to_f32(constant.array))
            made = Dense.of(there, replace(constant.type, element_type=_F32))
            operation = operation.with_attributes(value=made)
        return replace(
            operation,
            operands=tuple(map(_retype_to_f32, operation.operands)),
            results=tuple(map(_retype_to_f32, operation.results)),
            regions=tuple(map(self._region, operation.regions)),
        )

    def _region(self, region: Region) -> Region:
        made = (one for operation in region.operations for one in self._operations(operation))
        return Region(tuple(map(_retype_to_f32, region.arguments)), tuple(made))

    def _operations(self, operation: Operation) -> Iterator[Operation]:
        """Yield the operations that replace an operation in a region."""
        there = self.written(operation)
        if not self.rounds or is_constant(operation):
            yield there
            return
        results = [
            new if new.type == old.type else self._value(new.type)
            for old, new in zip(operation.results, there.results, strict=True)
        ]
        yield replace(there, results=tuple(results))
        pairs = zip(operation.results, there.results, results, strict=True)
        for old, new, result in pairs:
            if new.type != old.type:
                yield from self._round_to_narrow(result, old.type, new)

    def _round_to_narrow(self, value: Value, narrow: ValueType, result: Value) -> list[Operation]:
        """Return the operations that flush a value and round it to a narrow type."""
        writer, of = OperationWriter(f"in f32 {next(self.numbers)}"), tensor_of(value)
        size = writer.add("abs", (value,))
        numbers = (_F32.float_format.smallest_normal, 0.0)
        least, zero = (
            writer.constant(np.full(of.static_shape, number), _F32) for number in numbers
        )
        flag = BOOLEAN[0]
        is_tiny = writer.add("compare", (size, least), flag, comparison_direction="LT")
        flushed = writer.add("select", (is_tiny, zero, value), _F32)
        there = writer.define(self._value(narrow), "convert", (flushed,))
        writer.define(result, "convert", (there,))
        return writer.operations

    def _value(self, of: ValueType) -> Value:
        return Value(f"in f32 {next(self.numbers)}", of)


def _retype_to_f32(value: Value) -> Value:
    of = value.type
    if not isinstance(of, TensorType) or _taken_element(of) is None:
        return value
    return with_element_type(value, _F32)
