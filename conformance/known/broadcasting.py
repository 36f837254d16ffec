"""Operands of elementwise operations, broadcast to the shape of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reference.interpreter import quantized
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.ops.table import OPS


def broadcast_operands(
    operation: Operation, operands: Sequence[Any], shape: tuple[int, ...]
) -> tuple[Array, ...] | None:
    """Return the operands in a result's shape.

    None for ops that are not elementwise, and for shapes that do not determine the operands of each
    element.
    """
    record = OPS.get(operation.name)
    if record is None or not record.elementwise or quantized.has_per_axis_values(operation):
        return None
    for operand in operands:
        if not isinstance(operand, np.ndarray):
            return None
        if operand.shape != shape and not (operand.ndim == 0 and record.lifts):
            return None
    return tuple(np.broadcast_to(one, shape) for one in operands) or None
