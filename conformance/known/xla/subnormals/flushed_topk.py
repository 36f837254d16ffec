"""TopK that takes subnormal numbers for zeros of their sign, in the total order that it sorts by.

jaxlib 0.10 compares bf16 as f32, by instructions that flush: -9e-39 and -8e-40 are both -0, and the
first of them is taken. What is taken is moved as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.interpreter.evaluate import apply
from reference.ir.program import Dense, Operation, Program, Value
from reference.ir.types import Array, element_type_of
from reference.numerics.alike import alike, has_subnormals
from reference.numerics.rounding import to_float64

LABEL = "subnormal comparison"


def concerns(operation: Operation) -> bool:
    """Tell whether an operation takes the largest or the smallest elements."""
    return operation.attribute("largest") is not None


def explains(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Tell whether a TopK that takes subnormal numbers for zeros explains these results.

    Each row is right, or is what such a TopK takes of it; one is not right.
    """
    *before, end = program.main.body.operations
    subject = before[-1] if before else end
    if not concerns(subject) or end.operands != subject.results:
        return False
    taken = _operand(program, subject.operands[0], inputs)
    if taken is None or not element_type_of(taken).is_float or not has_subnormals(taken):
        return False
    number = to_float64(taken)
    of = element_type_of(taken).float_format
    zero = np.where(np.signbit(number), -of.smallest, 0.0)  # one number for -0, one for 0
    flushed = np.where(np.abs(number) < of.smallest_normal, zero, number).astype(taken.dtype)
    right = _same(taken, apply(subject, (taken,))[1], actual)
    selected = _same(taken, apply(subject, (flushed,))[1], actual)
    return bool((right | selected).all() and not right.all())


def _same(taken: Array, indices: Array, actual: Sequence[Array]) -> Array:
    """Return which rows of the results hold just the elements of these indices, and these."""
    values = np.take_along_axis(taken, np.asarray(indices, np.int64), axis=-1)
    pairs = zip((values, indices), actual, strict=True)
    return np.logical_and.reduce([alike(one, other).all(axis=-1) for one, other in pairs])


def _operand(program: Program, wanted: Value, inputs: Sequence[Array]) -> Array | None:
    """Return a value that is an argument of main or a constant; None if it is computed."""
    arguments = [one.name for one in program.main.arguments]
    if wanted.name in arguments:
        return inputs[arguments.index(wanted.name)]
    for operation in program.main.body.operations:
        constant = operation.attribute("value")
        if isinstance(constant, Dense) and operation.results[0].name == wanted.name:
            return constant.array
    return None
