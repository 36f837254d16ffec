"""CHLO's constants: a tensor, and a number in the shape of an operand.

Source: StableHLO, stablehlo/dialect/ChloOps.td and ChloOps.cpp. The constraints are P1, P2, ... in
the verifier's order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import join_with_commas, same_shape
from reference.ir.op import FIRST_RESULT, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import Dense, Scalar, TensorType
from reference.ir.types import ALL, Array
from reference.ops.xla.building import LOWER, renamed_op


def _require_type(*, value: Dense, result: TensorType | None = None) -> None:
    """Require P1: the type of the result is the value's."""
    require("P1", result in (None, value.type), result)


def constant_like_type(
    operand: TensorType, *, value: Dense, result: TensorType | None = None
) -> TensorType:
    """Return the result type of `constant_like`: the operand's shape, the number's element type.

    Raises:
        ConstraintViolation: P1 (value not a number of the result's element type), P2 (shape of the
            result).
    """
    made = replace(operand, element_type=value.type.element_type)
    stated = made if result is None else result
    fits = isinstance(value, Scalar) and value.type.element_type == stated.element_type
    require("P1", fits, join_with_commas(value.type, stated))
    require("P2", same_shape(operand, stated), join_with_commas(operand, stated))
    return stated


def constant_like(operand: Array, *, value: Dense) -> Array:
    """Return the number, once for each element of the operand."""
    return np.full(operand.shape, value.array)


OPS: tuple[Op, ...] = (
    renamed_op(
        "chlo.constant", "constant", dialect=Dialect.CHLO, evaluate=LOWER["constant"].evaluate,
        conditions=_require_type, constraints=("P1",), restates={"P1": ("C1",)},
    ),
    Op(
        name="chlo.constant_like", dialect=Dialect.CHLO, specified=False,
        type_function=constant_like_type, evaluate=constant_like, operands=("operand",),
        attributes=("value",), constraints=("P1", "P2"), element_types=ALL, principal=FIRST_RESULT,
        quantized=QuantizedUse.REFUSES, rounding=Rounding.EXACT, structure=Structure.COMPUTES,
        lifts=True, needs_result=False,
    ),
)  # fmt: skip
"""The ops of this family."""
