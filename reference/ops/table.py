"""The table of every op that the reference knows, with all families of both dialects."""

from __future__ import annotations

from reference.ir.op import Dialect, Op
from reference.ops import mhlo, ragged, stablehlo
from reference.ops.distribution import ragged as ragged_exchange
from reference.ops.xla import (
    contraction,
    control_flow,
    distribution,
    elementwise,
    extended,
    host,
    movement,
    numerical,
    reduction,
    scaled,
)

__all__ = ["FAMILIES", "OPS", "Op"]

_XLA_MODULES = (
    elementwise, movement, reduction, contraction, control_flow, host, distribution, numerical,
    extended, scaled,
)  # fmt: skip

FAMILIES: dict[str, tuple[Op, ...]] = (
    stablehlo.FAMILIES
    | {"mhlo": mhlo.OPS, "ragged": (*ragged.OPS, *ragged_exchange.OPS)}
    | {f"xla.{module.__name__.rpartition('.')[2]}": module.OPS for module in _XLA_MODULES}
)
"""The ops of each family; XlaBuilder's are in a separate folder in every layer."""

_RECORDS = [record for records in FAMILIES.values() for record in records]

_ORDER = (Dialect.STABLEHLO, Dialect.XLA, Dialect.MHLO)

OPS: dict[str, Op] = {
    record.name: record
    for record in sorted(_RECORDS, key=lambda record: (_ORDER.index(record.dialect), record.name))
}
"""Every op by its name: the specification's, XlaBuilder's, then XLA's other instructions."""

if len(OPS) != len(_RECORDS):
    raise ValueError("two ops of one name in the families of reference.ops.table")
