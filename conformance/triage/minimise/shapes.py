"""Smaller shapes: a size is replaced by a smaller one wherever it occurs.

Dependencies among sizes are not computed: the verifier decides which programs are valid.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from conformance.triage.minimise.attempts import Minimisation
from reference.ir.program import Program, TensorType
from reference.ir.resizing import Sizes, resize_dimensions, sizes_of
from reference.ir.types import Array


def shrink_shapes(attempts: Minimisation) -> bool:
    """Try each size smaller, by itself and with its multiples; return whether any was accepted."""
    shrunk = False
    going_on = True
    while going_on and not attempts.is_over:
        going_on = any(_try_sizes(attempts, sizes) for sizes in _changes(attempts.program))
        shrunk |= going_on
    return shrunk


def _changes(program: Program) -> Iterator[Sizes]:
    """Yield replacements of sizes: all at once, then the largest sizes and steps first."""
    found = sorted(sizes_of(program), reverse=True)
    if len(found) > 1:
        for most in (1, 2, 3):
            yield {size: min(size, most) for size in found}
    for size in found:
        for smaller in dict.fromkeys((1, 2, 3, size // 2, size - 1)):
            if not 0 < smaller < size:
                continue
            yield {size: smaller}
            for other in found:
                if other > size and other % size == 0:
                    yield {size: smaller, other: other // size * smaller}
                    break
            for other in (size + 1, size - 1, 2 * size):
                if other in found and other != smaller:
                    yield {size: smaller, other: max(other + smaller - size, 1)}


def _try_sizes(attempts: Minimisation, sizes: Sizes) -> bool:
    """Return whether the program fails with these sizes, on the first or last elements."""
    smaller = resize_dimensions(attempts.program, sizes)
    for last in (False, True):
        inputs = tuple(_crop(array, sizes, last=last) for array in attempts.inputs)
        if attempts.try_program(smaller, inputs):
            return True
    return False


def _crop(array: Array, sizes: Sizes, *, last: bool) -> Array:
    parts = tuple(
        slice(None)
        if size not in sizes
        else slice(size - sizes[size], None)
        if last
        else slice(0, sizes[size])
        for size in array.shape
    )
    shape = tuple(sizes[size] if size in sizes else size for size in array.shape)  # noqa: SIM401 - its type
    return np.ascontiguousarray(array[parts]).reshape(shape)


def count_elements(program: Program) -> int:
    """Return the number of elements of main's parameters and results.

    An unknown size counts 1.
    """
    types = [*(value.type for value in program.main.arguments), *program.main.result_types]
    return sum(
        math.prod(size for size in of.shape if size is not None)
        for of in types
        if isinstance(of, TensorType)
    )
