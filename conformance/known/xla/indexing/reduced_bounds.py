"""Reductions along a dimension of size 0 or 1 that are computed as if its size were 1.

If the bound of a dynamic dimension is 1, the compiler for GPUs turns a reduction along it into a
reshape before it looks for the size. The element that set_dimension_size has cut off remains.

Source: jaxlib 0.12 for GPUs, measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from conformance.known.writing import constant
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value

LABEL = "cut element reduced"

_CUTS, _REDUCES = "set_dimension_size", "reduce"


def concerns(operation: Operation) -> bool:
    """Return whether an operation reduces a dynamic dimension whose bound is 1."""
    dimensions = operation.attribute("dimensions")
    if operation.name != _REDUCES or not isinstance(dimensions, tuple):
        return False
    return any(
        isinstance(of := one.type, TensorType)
        and of.bounds
        and any(of.shape[d] is None and of.bounds[d] == 1 for d in map(int, dimensions))
        for one in operation.operands
    )


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program whose dimensions of at most one element have one, if it reduces any."""
    operations = program.main.body.operations
    cuts = [one for one in operations if _cuts_one(one)]
    if cuts and any(map(concerns, operations)):
        yield (replace_operations(program, [(one, _undo_cut(one)) for one in cuts]),)


def _cuts_one(operation: Operation) -> bool:
    """Return whether an operation sets the size of a dimension of one element."""
    if operation.name != _CUTS:
        return False
    of, dimension = operation.operands[0].type, operation.attribute("dimension")
    return isinstance(of, TensorType) and isinstance(dimension, int) and of.shape[dimension] == 1


def _undo_cut(one: Operation) -> tuple[Operation, Operation]:
    operand, size = one.operands
    assert isinstance(size.type, TensorType)
    kept = Value(f"{one.results[0].name}.kept", size.type)
    ones = np.ones(size.type.static_shape, size.type.storage)
    return constant(kept, ones), replace(one, operands=(operand, kept))
