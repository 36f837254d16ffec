"""Cases of the ops of reference/ops/linear_algebra.py."""

from __future__ import annotations

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import size_label, sizes_label
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ElementType
from reference.ops.linear_algebra import TRANSPOSITIONS

_SIZES = (1, 2, 3, 4, 5, 6, 8, 0)
_LARGE = (7, 9, 15, 16, 17, 31, 33, 48, 64, 65)
_NARROW = 16
"""Number of bits below which element types have small matrices only, so that results are
representable.
"""

_BATCHES = ((),) * 6 + ((2,), (3,), (2, 2), (1,), (2, 1, 3), (0,))
_COLUMNS = (1, 2, 3, 4, 7, 0)
_FLAGS = (True, False)

_DEFINITE: tuple[ProfileRow, ...] = (
    ("definite",), ("gram",), ("definite",), ("graded",), ("gram",), ("definite",), ("hilbert",),
    ("definite",), ("unit",), ("mixed",),
)  # fmt: skip
_POSITIVE: tuple[ProfileRow, ...] = (("positive",), ("special",), ("perfect_powers",), ("wide",))
"""Matrices of one element, for f8E8M0FNU, which has neither zero nor negative numbers."""

_TRIANGULAR: tuple[ProfileRow, ...] = (
    ("triangular", "small_integers"), ("triangular", "unit"), ("triangular", "moderate"),
    ("triangular", "lower_triangular"), ("graded_triangular", "unit"),
    ("triangular", "unit_diagonal"), ("unit_diagonal", "small_integers"),
    ("triangular", "small_integers"), ("unit", "unit"),
    ("small_integers", "small_integers"), ("triangular", "mixed"), ("special", "unit"),
)  # fmt: skip
_UNIT: tuple[ProfileRow, ...] = (
    ("unit_diagonal", "small_integers"), ("unit_diagonal", "unit"),
    ("unit_diagonal", "unit_diagonal"), ("unit_diagonal", "moderate"),
    ("triangular", "small_integers"), ("unit_diagonal", "mixed"),
)  # fmt: skip


def _size(pick: Pick, element_type: ElementType) -> tuple[tuple[int, ...], int]:
    """Return the batch dimensions, and n of the n x n matrices."""
    if not element_type.float_format.has_zero:
        return choose(pick, _BATCHES, "batch", sizes_label), 1
    if element_type.part.bits >= _NARROW and seldom(pick, 6, "large matrix"):
        return (), choose(pick, _LARGE, "large size", size_label)
    size = choose(pick, _SIZES, "size", size_label)
    if element_type.part.bits < _NARROW:
        size = min(size, 4)
    return choose(pick, _BATCHES, "batch", sizes_label), size


def _cholesky(element_type: ElementType, pick: Pick) -> Case:
    batch, size = _size(pick, element_type)
    kind = TensorType((*batch, size, size), element_type)
    given: dict[str, Attribute] = {"lower": choose(pick, _FLAGS, "lower")}
    rows = _DEFINITE if element_type.float_format.has_zero else _POSITIVE
    return case(pick, "cholesky", {"a": kind}, (kind,), rows, given)


def _triangular_solve(element_type: ElementType, pick: Pick) -> Case:
    batch, size = _size(pick, element_type)
    left = choose(pick, _FLAGS, "left_side")
    columns = choose(pick, _COLUMNS, "right-hand sides", size_label)
    if columns and seldom(pick, 4, "as many right-hand sides as unknowns"):
        columns = size
    sides = (size, columns) if left else (columns, size)
    types = {
        "a": TensorType((*batch, size, size), element_type),
        "b": TensorType((*batch, *sides), element_type),
    }
    given: dict[str, Attribute] = {
        "left_side": left,
        "lower": choose(pick, _FLAGS, "lower"),
        "unit_diagonal": seldom(pick, 3, "unit_diagonal"),
        "transpose_a": choose(pick, TRANSPOSITIONS, "transpose_a"),
    }
    rows = _UNIT if given["unit_diagonal"] else _TRIANGULAR
    if not element_type.float_format.has_zero:
        rows = tuple(row * 2 for row in _POSITIVE)
    return case(pick, "triangular_solve", types, (types["b"],), rows, given)


BUILDERS: dict[str, Builder] = {"cholesky": _cholesky, "triangular_solve": _triangular_solve}
"""The builder of each op's cases."""
