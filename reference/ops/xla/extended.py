"""XlaBuilder's ops whose instructions StableHLO lacks.

Source: XLA operation semantics, each op by its name.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from reference.ir.op import Op
from reference.ir.program import Region, TensorType, Value
from reference.ir.regions import output_types
from reference.ops.mhlo import check_scan, top_k_type
from reference.ops.xla.building import Building, lowered_op, renamed_op
from reference.ops.xla.elementwise import ACCURACY

Values = tuple[Value, ...]


def _scan_conditions(
    inputs_and_inits: tuple[TensorType, ...], *, to_apply: Region, scan_dimension: int,
    num_carries: int, **_: Any,
) -> None:  # fmt: skip
    """Require P1 to P3: see `reference.ops.mhlo.check_scan`."""
    count = len(inputs_and_inits) - num_carries
    inputs, carries = inputs_and_inits[:count], inputs_and_inits[count:]
    made = len(output_types(to_apply)) - num_carries
    check_scan(inputs, carries, to_apply, scan_dimension, made)


def _scan(
    building: Building, inputs_and_inits: Values, *, to_apply: Region, scan_dimension: int,
    num_carries: int, is_reverse: bool = False, is_associative: bool | None = None,
) -> Values:  # fmt: skip
    made = len(output_types(to_apply)) - num_carries
    given: dict[str, Any] = {} if is_associative is None else {"is_associative": is_associative}
    return building.ops(
        "mhlo.scan", *inputs_and_inits, regions=(to_apply,), dimension=scan_dimension,
        is_reverse=is_reverse, resultSegmentSizes=(made, num_carries),
        operandSegmentSizes=(len(inputs_and_inits) - num_carries, num_carries), **given,
    )  # fmt: skip


OPS: tuple[Op, ...] = (
    renamed_op("Cosh", "mhlo.cosh", attributes=ACCURACY, optional=ACCURACY),
    renamed_op("Erf", "mhlo.erf", attributes=ACCURACY, optional=ACCURACY),
    lowered_op(
        "Scan", "mhlo.scan", _scan, operands=("*inputs_and_inits",), regions=("to_apply",),
        attributes=("scan_dimension", "num_carries", "is_reverse", "is_associative"),
        optional=("is_reverse", "is_associative"), conditions=_scan_conditions,
        constraints=("P1", "P2", "P3"),
    ),
    renamed_op(
        "TopK", "mhlo.topk", conditions=partial(top_k_type, ids=("P1", "P2", "result")),
        constraints=("P1", "P2"),
    ),
)  # fmt: skip
