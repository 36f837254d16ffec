"""NaN from additions to zero: f8E8M0FNU has no zero, so the constant is NaN.

The TPU's compiler drops dimensions of size 1 by a sum along them that begins with 0. It drops such
dimensions of the updates of a scatter, too.

Source: libtpu 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.xla.memory import constant
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of

LABEL = "NaN for a zero of f8E8M0FNU"

_MOVING = ("all_to_all", "broadcast_in_dim", "reshape")
"""Ops that the compiler writes with a sum along dropped dimensions of size 1."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield programs in which operations that move elements return NaN, and scatters have NaN as
    updates: all of them, then single operations.
    """
    found = [(one, new) for one in program.walk() if (new := tuple(_with_nans(one)))]
    for some in (found, *([one] for one in found)) if len(found) > 1 else (found,):
        if some:
            yield (replace_operations(program, some),)


def _with_nans(operation: Operation) -> Iterator[Operation]:
    """Yield what replaces an operation; nothing if it drops no dimension of such numbers."""
    if operation.name in _MOVING:
        if all(map(_are_powers, (*operation.operands, *operation.results))):
            yield from map(_nans, operation.results)
    elif operation.name == "scatter":
        kept = len(operation.results) + 1
        updates = operation.operands[kept:]
        named = [
            replace(one, name=f"{operation.results[0].name}.update{number}")
            if _are_powers(one) and 1 in tensor_of(one).static_shape
            else one
            for number, one in enumerate(updates)
        ]
        if made := [one for one in named if one not in updates]:
            yield from map(_nans, made)
            yield replace(operation, operands=(*operation.operands[:kept], *named))


def _are_powers(value: Value) -> bool:
    of = value.type
    return isinstance(of, TensorType) and of.stored.is_float and not of.stored.float_format.has_zero


def _nans(value: Value) -> Operation:
    """Return a constant of NaN."""
    of = tensor_of(value)
    return constant(value, np.full(of.static_shape, np.nan).astype(of.storage))
