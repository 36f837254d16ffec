"""Every op that the reference knows: the records of all families in one table.

This list of families is the only one: upper layers add to each op what is theirs (cases, near
misses, what is open, a rule) in modules of the same names, see `reference.ops.registry`.
"""

from __future__ import annotations

from reference.ir.op import Op
from reference.ops import (
    contraction,
    control_flow,
    convolution,
    data_movement,
    dynamism,
    fft,
    host,
    linear_algebra,
    normalization,
    quantization,
    random,
)
from reference.ops.elementwise import elementwise
from reference.ops.folds import reduction
from reference.ops.indexed import gathering
from reference.ops.sorts import sorting

__all__ = ["FAMILIES", "OPS", "Op"]

_MODULES = (
    elementwise, data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

FAMILIES: dict[str, tuple[Op, ...]] = {
    module.__name__.rpartition(".")[2]: module.OPS for module in _MODULES
}
"""The ops of each family."""

_RECORDS = [record for records in FAMILIES.values() for record in records]

OPS: dict[str, Op] = {
    record.name: record for record in sorted(_RECORDS, key=lambda record: record.name)
}
"""Every op, by mnemonic, in the specification's order, which is the alphabet's."""

if len(OPS) != len(_RECORDS):
    raise ValueError("two ops of one name in the families of reference.ops.table")
