"""Cases of XlaBuilder's product of operands with scales.

The contracted sizes have divisors, for blocks. A scale has an element for each block along the
contracted dimensions, for each row, for each element, for blocks along all dimensions, or a single
element: with the value 1 it means that there is no scale.
"""

from __future__ import annotations

from typing import Any

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.families.contraction import layout, precisions
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import TensorType
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops.xla.contraction import DotDimensionNumbers

Sizes = tuple[int, ...]

_DEPTHS = (6, 4, 8, 2, 12, 16, 32, 64, 96, 128, 256, 1, 3, 0)

BLOCKS, ROWS, TILES, EACH, ONE = (
    "of blocks", "of rows", "of blocks of all dimensions", "of elements", "a single one"
)  # fmt: skip
_FORMS = (BLOCKS,) * 4 + (ROWS, TILES, EACH, ONE)

_SCALE_TYPES = ("f8E8M0FNU", "f8E8M0FNU", "bf16", "f8E4M3FN")
_OTHER_TYPES = ("f8E5M2", "bf16", "f4E2M1FN")
_RESULT_TYPES = ("bf16", "f32", "f32")

_EXACT: ProfileRow = ("small_integers", "powers:-3:3", "small_integers", "powers:-3:3")
_ROWS: tuple[ProfileRow, ...] = (
    *(_EXACT,) * 6,
    ("small_integers", "values:1", "small_integers", "powers:-2:2"),
    ("small_integers", "powers:-2:2", "small_integers", "values:1"),
    ("moderate", "powers:-8:8", "moderate", "powers:-8:8"),
    ("moderate", "moderate", "unit", "near_one"),
    ("unit", "near_one", "moderate", "moderate"),
    ("moderate", "powers:-100:-60", "moderate", "powers:60:100"),
    ("near_one", "powers:-20:20", "unit", "powers:-4:4"),
    ("cancelling", "values:1", "values:1", "powers:-2:2"),
    ("lone_one", "powers:-1:1", "near_one", "values:1"),
    ("mixed_zeros", "powers:-3:3", "moderate", "powers:-3:3"),
    ("moderate", "powers:-127:-110", "moderate", "powers:100:120"),
    ("moderate", "powers:120:127", "small_integers", "powers:-60:-50"),
    ("special", "powers:-2:2", "small_integers", "powers:-2:2"),
    ("small_integers", "special", "small_integers", "powers:-2:2"),
    ("mixed", "mixed", "mixed", "mixed"),
    ("wide", "powers:-4:4", "wide", "wide"),
)


def _part(pick: Pick, size: int) -> int:
    """Return a proper divisor of a size greater than 1, if it has any."""
    every = [n for n in range(1, size + 1) if size % n == 0] or [size]
    return choose(pick, every[1:-1] or every)


def _scale(pick: Pick, name: str, sizes: Sizes, contracting: Sizes) -> Sizes:
    """Return the sizes of the scale of an operand of these sizes."""
    form = choose(pick, _FORMS, name)
    if form in (EACH, ONE):
        return sizes if form == EACH else (1,) * len(sizes)
    return tuple(
        (1 if form == ROWS else _part(pick, size)) if d in contracting or form == TILES else size
        for d, size in enumerate(sizes)
    )


def _type(pick: Pick, name: str, own: str, others: tuple[str, ...], times: int) -> ElementType:
    return ELEMENT_TYPES[choose(pick, (own,) * times + others, f"{name} type")]


def _scaled_dot(element_type: ElementType, pick: Pick) -> Case:
    of, own = layout(element_type, pick, _DEPTHS), element_type.name
    given: dict[str, Any] = of.attributes
    numbers = DotDimensionNumbers(
        given["lhs_contracting_dimensions"], given["rhs_contracting_dimensions"],
        given["lhs_batching_dimensions"], given["rhs_batching_dimensions"],
    )  # fmt: skip
    scales = (
        _scale(pick, "lhs_scale", of.lhs, numbers.lhs_contracting_dimensions),
        _scale(pick, "rhs_scale", of.rhs, numbers.rhs_contracting_dimensions),
    )
    types = {
        "lhs": TensorType(of.lhs, element_type),
        "lhs_scale": TensorType(scales[0], _type(pick, "lhs_scale", own, _SCALE_TYPES, 1)),
        "rhs": TensorType(of.rhs, _type(pick, "rhs", own, _OTHER_TYPES, 4)),
        "rhs_scale": TensorType(scales[1], _type(pick, "rhs_scale", own, _SCALE_TYPES, 1)),
    }
    to = _type(pick, "result", own, _RESULT_TYPES, 2)
    stated: dict[str, Any] = {"dimension_numbers": numbers} | precisions(pick)
    if to is not element_type:
        stated["preferred_element_type"] = to.name
    return case(pick, "ScaledDot", types, (TensorType(of.result, to),), _ROWS, stated)


BUILDERS: dict[str, Builder] = {"ScaledDot": _scaled_dot}
"""The builder of each op's cases."""
