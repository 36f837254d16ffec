"""Slices of a reversed value of dynamic size, whose start is added to the reversal's own.

XLA reverses a value of dynamic size as a whole, appends zeros, and slices it dynamically from where
the elements of that size begin. It then merges this slice with the slice that follows, and adds the
starts without clamping the second to the dynamic size. A dynamic reshape to sizes of at most
its operand's sets a dynamic size, too.

Source: jaxlib 0.10.2 and 0.11.2, pass `algsimp`, measured for CPU, GPU and TPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.transforms.replacing import replace_operations
from reference.ir.program import (
    Attribute,
    Operation,
    Program,
    TensorType,
    Value,
    tensor_of,
)
from reference.ir.types import ELEMENT_TYPES

LABEL = "start added to a reversal's"

_SLICES, _REVERSALS = "dynamic_slice", "reverse"
_CUTS, _RESHAPES = "set_dimension_size", "dynamic_reshape"
_SIZE = TensorType((), ELEMENT_TYPES["si32"])


def concerns(operation: Operation) -> bool:
    """Return whether an operation slices an operand of dynamic size."""
    of = operation.operands[0].type if operation.operands else None
    return operation.name == _SLICES and isinstance(of, TensorType) and None in of.shape


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with slices of reversed values from the sum of both starts."""
    operations = program.main.body.operations
    makers = {value.name: one for one in operations for value in one.results}
    found: list[tuple[Operation, tuple[Operation, ...]]] = []
    for operation in filter(concerns, operations):
        reversal = makers.get(operation.operands[0].name)
        if reversal is None or reversal.name != _REVERSALS:
            continue
        cut = makers.get(reversal.operands[0].name)
        dimension = None if cut is None else _cut_dimension(cut)
        if cut is not None and dimension is not None and dimension in _reversed(reversal):
            found.append((operation, tuple(_slice_whole(operation, reversal, cut, dimension))))
    if found:
        yield (replace_operations(program, found),)


def _reversed(reversal: Operation) -> tuple[Attribute, ...]:
    dimensions = reversal.attribute("dimensions")
    assert isinstance(dimensions, tuple)
    return dimensions


def _cut_dimension(cut: Operation) -> int | None:
    """Return the dimension of a static operand that is given a dynamic size; None without one."""
    whole, result = cut.operands[0].type, cut.results[0].type
    if not isinstance(whole, TensorType) or not isinstance(result, TensorType):
        return None
    if None in whole.shape or cut.name not in (_CUTS, _RESHAPES):
        return None
    if cut.name == _CUTS:
        dimension = cut.attribute("dimension")
        assert isinstance(dimension, int)
        return dimension
    dynamic = [number for number, size in enumerate(result.shape) if size is None]
    bounds = result.bounds or result.shape
    largest = tuple(map(_first_known, result.shape, bounds))
    return dynamic[0] if len(dynamic) == 1 and largest == whole.shape else None


def _first_known(size: int | None, bound: int | None) -> int | None:
    return bound if size is None else size


def _slice_whole(
    operation: Operation, reversal: Operation, cut: Operation, dimension: int
) -> list[Operation]:
    """Return the slice of the whole operand, reversed and followed by zeros."""
    sizes = operation.attribute("slice_sizes")
    assert isinstance(sizes, tuple)
    writer, (whole, given) = OperationWriter(operation.results[0].name), cut.operands[:2]
    number = (tensor_of(given) if cut.name == _CUTS else _SIZE).element
    size = _size_of(writer, cut, dimension)
    of = tensor_of(whole)
    count = of.static_shape[dimension]
    twice = [2 * n if d == dimension else n for d, n in enumerate(of.static_shape)]
    turned = writer.add("reverse", (whole,), dimensions=_reversed(reversal))
    padding = writer.constant(np.zeros(of.static_shape), of.element)
    joined = writer.add("concatenate", (turned, padding), shape=twice, dimension=dimension)
    total, least, most = (
        writer.constant(np.array(one), number)
        for one in (count, 0, 2 * count - int(sizes[dimension]))
    )
    missing = writer.add("subtract", (total, size))
    first = writer.add("clamp", (least, missing, most))
    starts = list(operation.operands[1:])
    own = starts[dimension]
    converted = writer.add("convert", (first,), tensor_of(own).element)
    starts[dimension] = writer.add("add", (converted, own))
    return [*writer.operations, replace(operation, operands=(joined, *starts))]


def _size_of(writer: OperationWriter, cut: Operation, dimension: int) -> Value:
    """Add the operations that define the size that a dimension is given."""
    given = cut.operands[1]
    if cut.name == _CUTS:
        return writer.add("reshape", (given,))
    taken = writer.slice(given, (dimension,), (dimension + 1,))
    of_one = writer.add("reshape", (taken,), shape=())
    return writer.add("convert", (of_one,), _SIZE.element)
