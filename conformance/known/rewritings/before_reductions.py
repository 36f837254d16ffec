"""Operations that go wrong only where they are made one with a reduction after them.

XLA's CPU hands reductions of 4096 elements or more to YNNPACK, with the operations before them.
There a maximum or minimum gives its second operand where the first is NaN, and a negation, a sign
or an odd function gives +0 for every zero. Each is right where its result is shown: what is wrong
shows in what the reduction makes of it.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.known.rewritings.values import Predicted, Shown, given_to
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation, Program, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

OTHER = "other operand for NaN before a reduction"
POSITIVE = "+0 for zeros before a reduction"

_LEAST = 4096
"""Elements that are reduced in this way at least."""


def of_extremum(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """An extremum's second operand where its first is NaN; constants come second."""
    operands = given_to(operation, values)
    if operands is None or not element_type_of(operands[0]).is_float:
        return
    if not _is_reduced(program, operation):
        return
    (right,) = apply(operation, operands)
    shown = Shown(program, values)
    first, second = operands[::-1] if shown.is_folded(operation.operands[0]) else operands
    other = np.where(np.isnan(to_float64(first)), second, right)
    yield Predicted(other.astype(right.dtype), np.zeros(right.shape))


def of_odd_function(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """An odd function whose zeros are +0."""
    given = values.get(operation.operands[0].name)
    if given is None or not element_type_of(given).is_float:
        return
    if _is_reduced(program, operation):
        (right,) = apply(operation, [given])
        yield Predicted(np.where(right == 0, np.zeros_like(right), right), np.zeros(right.shape))


def _is_reduced(program: Program, operation: Operation) -> bool:
    """Tell whether some reduction of many elements takes what is made of a result."""
    names = {value.name for value in operation.results}
    for one in program.main.body.operations[:-1]:
        taken = [value for value in one.operands if value.name in names]
        if not taken:
            continue
        record = OPS.get(one.name)
        if record is None:
            continue
        sizes = [value.type.static_shape for value in taken if isinstance(value.type, TensorType)]
        if not record.elementwise and not record.moves_elements:
            if any(np.prod(size) >= _LEAST for size in sizes):
                return True
        else:
            names |= {value.name for value in one.results}
    return False
