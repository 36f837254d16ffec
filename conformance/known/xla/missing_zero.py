"""NaN from additions to zero: f8E8M0FNU has no zero, so the constant is NaN.

The TPU's compiler drops dimensions of size 1 by a sum along them that begins with 0. It drops such
dimensions of the updates of a scatter, and of the operand of a dynamic_update_slice, too.

Source: libtpu 0.0.50, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import constant
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of

LABEL = "NaN for a zero of f8E8M0FNU"

_MOVING = ("all_to_all", "broadcast_in_dim", "reshape")
"""Ops that the compiler writes with a sum along dropped dimensions of size 1."""


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield programs in which operations that move elements return NaN, and scatters and updates of
    slices take NaN: all of them, then single operations.
    """
    found = [(one, new) for one in program.walk() if (new := tuple(_replace_by_nans(one)))]
    for some in (found, *([one] for one in found)) if len(found) > 1 else (found,):
        if some:
            yield (replace_operations(program, some),)


def _replace_by_nans(operation: Operation) -> Iterator[Operation]:
    """Yield what replaces an operation; nothing if it drops no dimension of such numbers."""
    moved = (*operation.operands, *operation.results) if operation.name in _MOVING else ()
    if moved and all(map(_are_powers, moved)):
        yield from map(_nans, operation.results)
    dropped = _dropped_operands(operation)
    named = tuple(
        replace(one, name=f"{operation.results[0].name}.dropped{number}")
        if number in dropped and _are_powers(one) and 1 in tensor_of(one).static_shape
        else one
        for number, one in enumerate(operation.operands)
    )
    if made := [one for one in named if one not in operation.operands]:
        yield from map(_nans, made)
        yield replace(operation, operands=named)


def _dropped_operands(operation: Operation) -> range:
    """Return the numbers of the operands whose dimensions of size 1 the compiler drops."""
    if operation.name == "dynamic_update_slice":
        return range(1)
    if operation.name == "scatter":
        return range(len(operation.results) + 1, len(operation.operands))
    return range(0)


def _are_powers(value: Value) -> bool:
    of = value.type
    if not isinstance(of, TensorType) or None in of.shape:
        return False
    return of.stored.is_float and not of.stored.float_format.has_zero


def _nans(value: Value) -> Operation:
    """Return a constant of NaN."""
    of = tensor_of(value)
    return constant(value, np.full(of.static_shape, np.nan).astype(of.storage))
