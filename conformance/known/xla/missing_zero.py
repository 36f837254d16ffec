"""NaN from additions to zero: f8E8M0FNU has no zero, so the constant is NaN.

The TPU's compiler drops dimensions of size 1 by a sum along them that begins with 0.

Source: libtpu 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from conformance.known.xla.memory import constant
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value

LABEL = "NaN for a zero of f8E8M0FNU"

_MOVING = ("all_to_all", "broadcast_in_dim", "reshape")
"""Ops that the compiler writes with a sum along dropped dimensions of size 1."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield programs in which operations that move elements return NaN: all of them, then single
    operations.
    """
    found = [one for one in program.walk() if _moves_powers(one)]
    for some in (found, *([one] for one in found)) if len(found) > 1 else (found,):
        if some:
            yield (replace_operations(program, [(one, tuple(_nans(one))) for one in some]),)


def _moves_powers(operation: Operation) -> bool:
    if operation.name not in _MOVING:
        return False
    return all(map(_are_powers, (*operation.operands, *operation.results)))


def _are_powers(value: Value) -> bool:
    of = value.type
    return isinstance(of, TensorType) and of.stored.is_float and not of.stored.float_format.has_zero


def _nans(operation: Operation) -> Iterator[Operation]:
    """Yield constants of NaN for the results of an operation."""
    for one in operation.results:
        assert isinstance(one.type, TensorType)
        array = np.full(one.type.static_shape, np.nan).astype(one.type.storage)
        yield constant(one, array)
