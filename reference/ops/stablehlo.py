"""The ops of the StableHLO specification: the records of all its families.

There is no other list of families. Upper layers add their data for each op (cases, near misses,
unspecified results, a rule) in modules of the same names, see `reference.ops.registry`.
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
from reference.ops.distribution import distribution
from reference.ops.elementwise import elementwise
from reference.ops.folds import reduction
from reference.ops.indexed import gathering
from reference.ops.sorts import sorting

_MODULES = (
    elementwise, data_movement, dynamism, gathering, sorting, reduction, contraction, convolution,
    control_flow, host, distribution, normalization, linear_algebra, fft, random, quantization,
)  # fmt: skip

FAMILIES: dict[str, tuple[Op, ...]] = {
    module.__name__.rpartition(".")[2]: module.OPS for module in _MODULES
}
"""The ops of each family."""

OPS: dict[str, Op] = {record.name: record for records in FAMILIES.values() for record in records}
"""Every op of the specification, by mnemonic."""
