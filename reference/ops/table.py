"""The table of every op that the reference knows, with all families of all dialects."""

from __future__ import annotations

from reference.ir.op import Dialect, Op
from reference.ops import mhlo, ragged, stablehlo
from reference.ops.chlo import broadcasting, constants, functions, sorting
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

_CHLO_MODULES = (functions, broadcasting, constants, sorting)

FAMILIES: dict[str, tuple[Op, ...]] = (
    stablehlo.FAMILIES
    | {"mhlo": mhlo.OPS, "ragged": (*ragged.OPS, *ragged_exchange.OPS)}
    | {f"chlo.{module.__name__.rpartition('.')[2]}": module.OPS for module in _CHLO_MODULES}
    | {f"xla.{module.__name__.rpartition('.')[2]}": module.OPS for module in _XLA_MODULES}
)
"""The ops of each family; XlaBuilder's and CHLO's are in folders of their own in every layer."""

_RECORDS = [record for records in FAMILIES.values() for record in records]

_ORDER = list(Dialect)

OPS: dict[str, Op] = {
    record.name: record
    for record in sorted(_RECORDS, key=lambda record: (_ORDER.index(record.dialect), record.name))
}
"""Every op by its name: the specification's, XlaBuilder's, CHLO's, then XLA's other
instructions."""

if len(OPS) != len(_RECORDS):
    raise ValueError("two ops of one name in the families of reference.ops.table")
