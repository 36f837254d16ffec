"""CHLO's largest elements of rows.

Source: StableHLO, stablehlo/dialect/ChloOps.td. The constraints are P1 to P3 of
`reference.ops.mhlo.top_k_type`.
"""

from __future__ import annotations

from functools import partial

from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.types import BOOLEAN, FLOATS, INTEGERS
from reference.ops.mhlo import top_k, top_k_type

_IDS = ("P1", "P2", "P3")

OPS: tuple[Op, ...] = (
    Op(
        name="chlo.top_k", dialect=Dialect.CHLO, specified=False,
        type_function=partial(top_k_type, ids=_IDS), constraints=_IDS, evaluate=top_k,
        operands=("operand",), attributes=("k", "is_stable"), optional=("is_stable",),
        several=True, element_types=(*BOOLEAN, *INTEGERS, *FLOATS), principal=FIRST_OPERAND,
        quantized=QuantizedUse.REFUSES, rounding=Rounding.MOVES, structure=Structure.COMPUTES,
        lifts=False, needs_result=False,
    ),
)  # fmt: skip
"""The ops of this family."""
