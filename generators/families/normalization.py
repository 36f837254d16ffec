"""Cases of the ops of reference/ops/normalization.py."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.case.shapes import axis as any_axis
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType

_RANKS = (1, 2, 2, 2, 3, 3, 4, 4, 5)
_SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
_STRETCHED = (9, 16, 17, 31, 32, 33, 64, 65, 100, 128, 129)
_MOST_ELEMENTS = 2048
_EPSILONS = tuple(float(np.float32(e)) for e in (0.0, 0.001, 1e-5, 0.5, 1.0, 1e-3, 1e-10, 1e-30))
"""Values of epsilon. The attribute is an f32, so a program holds the nearest f32 number."""

_PLAIN = ("small_integers", "unit", "moderate", "small_integers", "near_one", "unit", "wide")
_VARIANCES = ("values:1", "values:4", "positive", "within:1:4", "within:0:3", "positive")

_TRAINING: tuple[ProfileRow, ...] = (
    *((name, "values:1", "values:0") for name in ("small_integers", "unit")),
    *((name, "small_integers", "small_integers") for name in _PLAIN),
    *((name, "unit", "unit") for name in _PLAIN),
    ("large", "unit", "unit"), ("subnormal", "unit", "unit"), ("values:3", "unit", "unit"),
    ("mixed", "unit", "unit"), ("special", "unit", "unit"), ("unit", "mixed", "mixed"),
    ("within:1:2", "values:0", "special"),
)  # fmt: skip
"""Profiles of operand, scale and offset."""

_INFERENCE: tuple[ProfileRow, ...] = (
    *((*row, "small_integers", "values:1") for row in _TRAINING[:4]),
    *((*row, "unit", spread) for row in _TRAINING[2:] for spread in _VARIANCES[::2]),
    *((*row, "small_integers", spread) for row in _TRAINING[2:9] for spread in _VARIANCES),
    ("unit", "unit", "unit", "mixed", "unit"), ("unit", "unit", "unit", "unit", "mixed"),
)  # fmt: skip
"""Profiles of operand, scale, offset, mean and variance."""

_GRADIENT: tuple[ProfileRow, ...] = tuple(
    (operand, scale, mean, variance, output)
    for (operand, scale, output, mean, variance) in _INFERENCE
)
"""Profiles of operand, scale, mean, variance and grad_output."""


def _shape(pick: Pick, element_type: ElementType) -> tuple[int, ...]:
    sizes = [choose(pick, _SIZES) for _ in range(choose(pick, _RANKS, "rank"))]
    kind = choose(pick, ("small",) * 42 + ("threshold",) * 12 + ("with 0",), "sizes")
    if kind != "small":
        sizes[pick(len(sizes))] = choose(pick, _STRETCHED) if kind == "threshold" else 0
    most = min(_MOST_ELEMENTS, int(element_type.float_format.max_finite))
    for axis in range(len(sizes)):
        if math.prod(sizes) > most:
            sizes[axis] = 1 + sizes[axis] % 2
    return tuple(sizes)


def _attributes(pick: Pick, rank: int) -> dict[str, Attribute]:
    index = any_axis(pick, rank, "feature_index")
    return {"epsilon": choose(pick, _EPSILONS, "epsilon"), "feature_index": index}


def _batch_norm(
    op: str,
    names: tuple[str, ...],
    rows: tuple[ProfileRow, ...],
    element_type: ElementType,
    pick: Pick,
) -> Case:
    full = TensorType(_shape(pick, element_type), element_type)
    given = _attributes(pick, full.rank)
    index = given["feature_index"]
    assert isinstance(index, int)
    one = TensorType((full.shape[index],), element_type)
    types = {name: full if name in ("operand", "grad_output") else one for name in names}
    results = (full,) if op == "batch_norm_inference" else (full, one, one)
    return case(pick, op, types, results, rows, given)


_OPS = {
    "batch_norm_grad": (("operand", "scale", "mean", "variance", "grad_output"), _GRADIENT),
    "batch_norm_inference": (("operand", "scale", "offset", "mean", "variance"), _INFERENCE),
    "batch_norm_training": (("operand", "scale", "offset"), _TRAINING),
}

BUILDERS: dict[str, Builder] = {
    op: partial(_batch_norm, op, names, rows) for op, (names, rows) in _OPS.items()
}
"""The builder of each op's cases."""
