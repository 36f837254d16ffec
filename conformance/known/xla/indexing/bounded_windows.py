"""Windows over what has a dynamic size, which are miscounted.

Where the size of a dimension was set, XLA counts the windows along it again, and forgets that the
operand is dilated; jaxlib 0.10.2 forgets that it is padded, too. What it counts too few is left out
of every row: the others lie one behind the other, and what is in memory follows them.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from conformance.known.mistaken import alike
from reference.interpreter.evaluate import evaluate
from reference.ir.errors import EvaluationError
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.types import Array
from reference.ops.folds.windows import pairs_of
from reference.ops.table import OPS

LABEL = "windows miscounted"

_CUTS, _WINDOWS = "set_dimension_size", "reduce_window"


def concerns(operation: Operation) -> bool:
    """Whether an operation is a reduction of windows that are padded or dilated."""
    if operation.name != _WINDOWS:
        return False
    shape = _shape(operation.results[0])
    few = _counted(operation, is_padded=False), _counted(operation, is_padded=True)
    return bool(shape) and few != (shape, shape)


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program gives just that in its results that are those of such windows, or are
    computed of them element by element; what is behind the rows may be anything."""
    windows = _windows(program)
    if not any(windows):
        return False
    try:
        expected = evaluate(program, inputs)
    except EvaluationError:
        return False
    if len(expected) != len(actual):
        return False
    given = zip(windows, expected, actual, strict=True)
    return all(_is_as(*one) for one in given)


def predicts(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> list[Array]:
    """Which elements of explained results are those of such windows."""
    found: list[Array] = []
    for window, right, got in zip(
        _windows(program), evaluate(program, inputs), actual, strict=True
    ):
        kept = got.size if window is None else _kept(window, right, got) or 0
        found.append((np.arange(got.size) < kept).reshape(got.shape))
    return found


def _is_as(window: Operation | None, right: Array, got: Array) -> bool:
    if window is None:
        return alike(right, got)
    if right.shape != got.shape or right.dtype != got.dtype:
        return False
    return _kept(window, right, got) is not None


def _kept(window: Operation, right: Array, got: Array) -> int | None:
    """How many elements are kept, as the results begin with these; None where they do not."""
    rows = (rows for rows in _rows(window, right) if alike(rows, got.reshape(-1)[: rows.size]))
    return next((one.size for one in rows), None)


def _rows(window: Operation, right: Array) -> Iterator[Array]:
    """What is kept of a result, 1-D, where sizes of some dimensions were set."""
    for is_padded in (True, False):
        counted = _counted(window, is_padded=is_padded)
        fewer = [d for d, few in enumerate(counted) if few < right.shape[d]]
        for some in range(1, len(fewer) + 1):
            for chosen in combinations(fewer, some):
                kept = [slice(few if d in chosen else None) for d, few in enumerate(counted)]
                yield right[tuple(kept)].reshape(-1)


def _windows(program: Program) -> list[Operation | None]:
    """For each result of main the windows that it is computed of element by element, where these
    are of what was cut; None where there are none."""
    operations = program.main.body.operations
    of: dict[str, Operation] = {}
    cut: set[str] = set()
    for one in operations[:-1]:
        names = [value.name for value in one.operands]
        if one.name == _CUTS or not cut.isdisjoint(names):
            cut.update(value.name for value in one.results)
        if concerns(one) and not cut.isdisjoint(names):
            of.update((value.name, one) for value in one.results)
        elif one.name in OPS and OPS[one.name].elementwise:
            found = [of[name] for name in names if name in of]
            of.update((value.name, found[0]) for value in one.results if found)
    return [of.get(value.name) for value in operations[-1].operands]


def _counted(window: Operation, *, is_padded: bool) -> tuple[int, ...]:
    """How many windows there are along each dimension, dilation of the operand left out."""
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
