"""Miscounted windows over values of dynamic size.

Where the size of a dimension was set, XLA counts the windows along it again, and forgets that the
operand is dilated; jaxlib 0.10.2 forgets that it is padded, too. The missing windows are left out
of every row: the others are adjacent in memory, and other memory follows them.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from math import prod
from typing import Any

from conformance.known.writing import OperationWriter
from conformance.known.xla.memory import CONTENTS, Content, memory_value
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of
from reference.ops.folds.windows import pairs_of

LABEL = "windows miscounted"

_CUTS, _WINDOWS = "set_dimension_size", "reduce_window"


def concerns(operation: Operation) -> bool:
    """Return whether an operation is a reduction of windows that are padded or dilated."""
    if operation.name != _WINDOWS:
        return False
    shape = _shape(operation.results[0])
    few = _count_windows(operation, is_padded=False), _count_windows(operation, is_padded=True)
    return bool(shape) and few != (shape, shape)


def rewrite(program: Program) -> Iterator[tuple[Program, ...]]:
    """Yield the program with miscounted rows, for each count and each content of the memory behind
    them.
    """
    miscounted = _miscounted_windows(program.main.body.operations)
    for counts in product(*(list(_kept_sizes(one)) for one in miscounted)):
        chosen = list(zip(miscounted, counts, strict=True))
        if chosen:
            yield tuple(
                replace_operations(
                    program, [(one, tuple(_cut_rows(one, kept, content))) for one, kept in chosen]
                )
                for content in CONTENTS
            )


def _kept_sizes(window: Operation) -> Iterator[tuple[int, ...]]:
    """Yield the sizes of a result that remain after sizes of some dimensions were set."""
    shape = _shape(window.results[0])
    for is_padded in (True, False):
        counted = _count_windows(window, is_padded=is_padded)
        fewer = [d for d, few in enumerate(counted) if few < shape[d]]
        for some in range(1, len(fewer) + 1):
            for chosen in combinations(fewer, some):
                yield tuple(counted[d] if d in chosen else size for d, size in enumerate(shape))


def _miscounted_windows(operations: Sequence[Operation]) -> list[Operation]:
    """Return the windows that may be miscounted because set_dimension_size has set a size."""
    cut: set[str] = set()
    found: list[Operation] = []
    for one in operations[:-1]:
        names = [value.name for value in one.operands]
        if one.name == _CUTS or not cut.isdisjoint(names):
            cut.update(value.name for value in one.results)
        if concerns(one) and not cut.isdisjoint(names):
            found.append(one)
    return found


def _cut_rows(one: Operation, kept: tuple[int, ...], content: Content) -> Iterator[Operation]:
    """Yield windows whose results are cut to the remaining rows, followed by memory."""
    whole = tuple(replace(value, name=f"{value.name}.whole") for value in one.results)
    yield replace(one, results=whole)
    for value, result in zip(whole, one.results, strict=True):
        yield from _pack_result(value, result, kept, content)


def _pack_result(
    whole: Value, result: Value, kept: tuple[int, ...], content: Content
) -> list[Operation]:
    of, writer = tensor_of(result), OperationWriter(result.name)
    rows = writer.slice(whole, (0,) * len(kept), kept)
    flat = writer.add("reshape", (rows,), shape=(prod(kept),))
    memory = Value(
        f"{result.name}.memory", TensorType((prod(of.static_shape) - prod(kept),), of.element_type)
    )
    writer.operations.append(memory_value(memory, content))
    joined = writer.add("concatenate", (flat, memory), shape=(prod(of.static_shape),), dimension=0)
    writer.define(result, "reshape", (joined,))
    return writer.operations


def _count_windows(window: Operation, *, is_padded: bool) -> tuple[int, ...]:
    """Return the number of windows along each dimension, ignoring dilation of the operand."""
    given: dict[str, Any] = dict(window.attributes)
    sizes = given["window_dimensions"]
    ones = (1,) * len(sizes)
    strides, dilations = (
        given.get(name) or ones for name in ("window_strides", "window_dilations")
    )
    pairs = pairs_of(given.get("padding") if is_padded else None, len(sizes))
    more = [low + high for low, high in pairs]
    return tuple(
        max(0, (size + wider - (window - 1) * dilation - 1) // stride + 1)
        for size, wider, window, dilation, stride in zip(
            _shape(window.operands[0]), more, sizes, dilations, strides, strict=True
        )
    )


def _shape(value: Value) -> tuple[int, ...]:
    of = value.type
    return of.static_shape if isinstance(of, TensorType) and of.is_static else ()
