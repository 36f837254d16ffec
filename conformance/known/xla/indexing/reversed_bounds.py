"""Slices of a reversed value of dynamic size, whose start is added to the reversal's own.

XLA reverses a value of dynamic size as a whole, appends zeros, and slices it dynamically from where
the elements of that size begin. It then merges this slice with the slice that follows, and adds the
starts without clamping the second to the dynamic size.

Source: jaxlib 0.10.2, pass `algsimp`, measured for GPU and TPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.xla.memory import constant, zeros
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, attributes, tensor_of

LABEL = "start added to a reversal's"

_SLICES, _REVERSALS, _CUTS = "dynamic_slice", "reverse", "set_dimension_size"


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
        if cut is not None and cut.name == _CUTS and _is_merged(reversal, cut):
            found.append((operation, tuple(_slice_whole(operation, reversal, cut))))
    if found:
        yield (replace_operations(program, found),)


def _is_merged(reversal: Operation, cut: Operation) -> bool:
    """Return whether the dynamic size is reversed, and was static before it was set."""
    whole = cut.operands[0].type
    reversed_dimensions = reversal.attribute("dimensions")
    assert isinstance(reversed_dimensions, tuple)
    is_static = isinstance(whole, TensorType) and None not in whole.shape
    return is_static and cut.attribute("dimension") in reversed_dimensions


def _slice_whole(operation: Operation, reversal: Operation, cut: Operation) -> Iterator[Operation]:
    """Yield the slice of the whole operand, reversed and followed by zeros."""
    (whole, size), dimension = cut.operands, cut.attribute("dimension")
    sizes = operation.attribute("slice_sizes")
    assert isinstance(dimension, int)
    assert isinstance(sizes, tuple)
    of, number, prefix = tensor_of(whole), tensor_of(size), f"{operation.results[0].name}."
    count = of.static_shape[dimension]
    twice = tuple(2 * n if d == dimension else n for d, n in enumerate(of.static_shape))
    turned, padding = (Value(f"{prefix}{name}", of) for name in ("turned", "padding"))
    joined = Value(f"{prefix}joined", replace(of, shape=twice))
    yield replace(reversal, operands=(whole,), results=(turned,))
    yield zeros(padding)
    yield Operation("concatenate", (turned, padding), (joined,), attributes(dimension=dimension))
    names = ("count", "least", "most", "cut", "first")
    total, least, most, missing, first = (Value(f"{prefix}{one}", number) for one in names)
    starts = list(operation.operands[1:])
    own = starts[dimension]
    converted, start = (Value(f"{prefix}{one}", own.type) for one in ("converted", "start"))
    for value, of_value in ((total, count), (least, 0), (most, 2 * count - int(sizes[dimension]))):
        yield constant(value, np.array(of_value).astype(number.storage))
    yield Operation("subtract", (total, size), (missing,))
    yield Operation("clamp", (least, missing, most), (first,))
    yield Operation("convert", (first,), (converted,))
    yield Operation("add", (converted, own), (start,))
    starts[dimension] = start
    yield replace(operation, operands=(joined, *starts))
