"""Products of matrices in groups of rows, of columns or of batches.

Source: XLA operation semantics, "RaggedDot", which refers to StableHLO's `chlo.ragged_dot`; that
op's own description; its verifier, whose checks are P1 to P20; and StableHLO's decomposition. One
dimension of lhs is ragged: `group_sizes` states how many of its indices belong to the first group,
how many of the following indices to the second, and so on. Indices after the last group belong to
none.
"""

from __future__ import annotations

from enum import Enum
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import are_dimensions, is_unique, join_with_commas
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import TensorType
from reference.ir.types import ALL, Array
from reference.numerics.products import Multiply, matmul
from reference.ops.contraction import (
    PRECISIONS,
    Dimensions,
    arrange_matrices,
    check_dimensions,
)

Sizes = tuple[int, ...]

_DOT = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions",
)  # fmt: skip
_RAGGED = ("lhs_ragged_dimensions", "rhs_group_dimensions")
_IDS = tuple(f"P{number}" for number in range(1, 21))
_BATCHED = 3
"""The rank of a stack of matrices: one batch dimension."""


class Mode(Enum):
    """The kind of the ragged dimension of lhs."""

    ROWS = "non-contracting: each group of rows is multiplied by a matrix of its own"
    DEPTH = "contracting: each group of products is added up to a result of its own"
    BATCH = "batch: groups make no difference"


class Ragged(NamedTuple):
    """The dimension numbers of a product, of the ragged dimension of lhs and of rhs's groups."""

    dot: Dimensions
    ragged: int
    group: int | None = None

    @property
    def mode(self) -> Mode:
        """The kind of the ragged dimension."""
        if self.ragged in self.dot.lhs_contracting:
            return Mode.DEPTH
        return Mode.BATCH if self.ragged in self.dot.lhs_batching else Mode.ROWS

    @property
    def group_dimensions(self) -> Dimensions:
        """The dimensions of the product of a single group, with the group's part of rhs."""
        group = self.group
        if group is None:
            return self.dot
        batching, contracting = (
            tuple(d - (d > group) for d in dimensions)
            for dimensions in (self.dot.rhs_batching, self.dot.rhs_contracting)
        )
        return self.dot._replace(rhs_batching=batching, rhs_contracting=contracting)

    def outer_dimensions(self, rank: int) -> Sizes:
        """Return the dimensions of lhs whose indices may have separate group sizes."""
        dot, ragged = self.dot, self.ragged
        if self.mode is Mode.BATCH:
            return dot.lhs_batching[: dot.lhs_batching.index(ragged)]
        kind = dot.lhs_contracting if self.mode is Mode.DEPTH else dot.lhs_result(rank)
        return (*dot.lhs_batching, *kind[: kind.index(ragged)])


def ragged_numbers(
    *,
    lhs_batching_dimensions: Sizes = (),
    rhs_batching_dimensions: Sizes = (),
    lhs_contracting_dimensions: Sizes = (),
    rhs_contracting_dimensions: Sizes = (),
    lhs_ragged_dimensions: Sizes = (),
    rhs_group_dimensions: Sizes = (),
    **_: object,
) -> Ragged:
    """Return the dimension numbers of an operation; only its first ragged dimension is used."""
    dot = Dimensions(
        lhs_batching_dimensions, rhs_batching_dimensions,
        lhs_contracting_dimensions, rhs_contracting_dimensions,
    )  # fmt: skip
    return Ragged(dot, lhs_ragged_dimensions[0], (*rhs_group_dimensions, None)[0])


# -- types ------------------------------------------------------------------------------------


def _check_groups(
    lhs: TensorType, rhs: TensorType, group_sizes: TensorType, numbers: Ragged, groups: Sizes
) -> bool:
    """Check P14 to P18: the shape of the group sizes, and the group dimensions of rhs."""
    sizes = group_sizes.shape
    before = tuple(lhs.shape[d] for d in numbers.outer_dimensions(lhs.rank))
    used = (*groups, *numbers.dot.rhs_batching, *numbers.dot.rhs_contracting)
    expected = int(numbers.mode is Mode.ROWS)
    return (
        require("P14", bool(sizes) and sizes[:-1] in ((), before), group_sizes)
        and require("P15", are_dimensions(groups, rhs.rank), f"{groups} of {rhs}")
        and require("P16", is_unique(used), f"{groups} and {numbers.dot}")
        and require("P17", len(groups) == expected, f"{groups}, {numbers.mode.value}")
        and require("P18", all(rhs.shape[d] == sizes[-1] for d in groups), f"{rhs}, {group_sizes}")
    )


def result_sizes(lhs: Sizes, rhs: Sizes, groups: int, numbers: Ragged) -> Sizes:
    """Return the sizes of the result: batches, rows, columns; in mode DEPTH preceded by the
    groups."""
    dot = numbers.dot
    return (
        *((groups,) if numbers.mode is Mode.DEPTH else ()),
        *(lhs[d] for d in (*dot.lhs_batching, *dot.lhs_result(len(lhs)))),
        *(rhs[d] for d in dot.rhs_result(len(rhs)) if d != numbers.group),
    )


def ragged_dot_type(
    lhs: TensorType, rhs: TensorType, group_sizes: TensorType, *, result: TensorType,
    precision_config: tuple[str, ...] = (), **given: Sizes,
) -> TensorType:  # fmt: skip
    """Return the result type of `chlo.ragged_dot`, which the program states.

    The element type is free.

    Raises:
        ConstraintViolation: P1 (at most two precisions), P2 to P11 (dimensions, as C1 to C10 of
            `dot_general`), P12 and P13 (one ragged dimension, in range), P14 (shape of the group
            sizes), P15 to P18 (group dimensions: in range, of no other role, their number, their
            size), P19 (group sizes not integers), P20 (sizes of the result).
    """
    known = all(one in PRECISIONS for one in precision_config)
    require("P1", known and len(precision_config) <= 2, precision_config)
    require("P19", group_sizes.element.is_integer, group_sizes)
    dot = Dimensions(*(tuple(given.get(name, ())) for name in _DOT))
    if not check_dimensions(lhs, rhs, dot, _IDS[1:11]):
        return result
    ragged, groups = (tuple(given.get(name, ())) for name in _RAGGED)
    fits = require("P12", len(ragged) == 1, ragged)
    if not (fits and require("P13", are_dimensions(ragged, lhs.rank), f"{ragged} of {lhs}")):
        return result
    numbers = ragged_numbers(**given)
    if _check_groups(lhs, rhs, group_sizes, numbers, groups):
        count = group_sizes.static_shape[-1]
        sizes = result_sizes(lhs.static_shape, rhs.static_shape, count, numbers)
        require("P20", result.shape == sizes, join_with_commas(lhs, rhs, result))
    return result


# -- evaluation -------------------------------------------------------------------------------


def group_members(group_sizes: Array, size: int, before: Sizes) -> Array:
    """Return a mask of the indices of a dimension in each group: (groups, *before, size).

    Args:
        group_sizes: of shape (*before, groups), or (groups,) if all are the same.
        size: the size of the ragged dimension; indices beyond it are in no group.
        before: sizes of the preceding dimensions.
    """
    counts = np.minimum(group_sizes.astype(object), size).astype(np.int64)  # for ui64, too
    ends = np.cumsum(counts, axis=-1)[..., None]
    index = np.arange(size)
    held = np.moveaxis((ends - counts[..., None] <= index) & (index < ends), -2, 0)
    if group_sizes.ndim == 1:
        held = held.reshape(len(held), *(1 for _ in before), size)
    return np.broadcast_to(held, (len(held), *before, size))


def lhs_members(lhs: Array, group_sizes: Array, numbers: Ragged) -> Array:
    """Return the `group_members` of the ragged dimension of lhs."""
    before = tuple(lhs.shape[d] for d in numbers.outer_dimensions(lhs.ndim))
    return group_members(group_sizes, lhs.shape[numbers.ragged], before)


def products_of_groups(
    lhs: Array, rhs: Array, group_sizes: Array, numbers: Ragged, product: Multiply
) -> Array:
    """Return the `product` of each group's members, at the result's positions; 0 without members.

    The matrices passed to `product` are of `wide` elements; `result_sizes` is the result's shape.
    """
    if numbers.mode is Mode.BATCH:
        a, b, shape = arrange_matrices(lhs, rhs, numbers.dot)
        return product(a, b).reshape(shape)
    held = lhs_members(lhs, group_sizes, numbers)
    shape = result_sizes(lhs.shape, rhs.shape, len(held), numbers)
    whole = _row_products if numbers.mode is Mode.ROWS else _depth_products
    return whole(lhs, rhs, held, numbers, product).reshape(shape)


def _batches(matrices: Array) -> Array:
    return matrices if matrices.ndim == _BATCHED else matrices[None]


def _row_products(lhs: Array, rhs: Array, held: Array, numbers: Ragged, product: Multiply) -> Array:
    assert numbers.group is not None
    dot, parts = numbers.group_dimensions, np.moveaxis(rhs, numbers.group, 0)
    mine = spread(lhs, held, dot, dot.lhs_result(lhs.ndim))
    a, b, _ = arrange_matrices(lhs, np.zeros(parts.shape[1:], parts.dtype), dot)
    a, b = _batches(a), _batches(b)
    result = np.zeros((*a.shape[:2], b.shape[2]), product(a[:0], b[:0]).dtype)
    for index, part in enumerate(parts):
        _, b, _ = arrange_matrices(lhs, part, dot)
        for at, matrix in enumerate(_batches(b)):
            rows = mine[index, at]
            result[at, rows] = product(a[at, rows], matrix)
    return result


def spread(lhs: Array, held: Array, dot: Dimensions, dimensions: Sizes) -> Array:
    """Return members of groups as (groups, batches, indices), with `dimensions` of lhs
    flattened."""
    batch = tuple(lhs.shape[d] for d in dot.lhs_batching)
    sizes = (*batch, *(lhs.shape[d] for d in dimensions))
    shaped = held.reshape(*held.shape, *(1 for _ in sizes[held.ndim - 1 :]))
    flat = (len(held), prod(batch), prod(sizes[len(batch) :]))
    return np.broadcast_to(shaped, (len(held), *sizes)).reshape(flat)


def _depth_products(
    lhs: Array, rhs: Array, held: Array, numbers: Ragged, product: Multiply
) -> Array:
    a, b, _ = arrange_matrices(lhs, rhs, numbers.dot)
    a, b = _batches(a), _batches(b)
    mine = spread(lhs, held, numbers.dot, numbers.dot.lhs_contracting)
    of = product(a[:0], b[:0]).dtype
    result = np.zeros((len(held), *a.shape[:2], b.shape[2]), of)
    for number, at in np.ndindex(*mine.shape[:2]):
        places = mine[number, at]
        result[number, at] = product(a[at][:, places], b[at][places])
    return result


def ragged_dot(
    lhs: Array, rhs: Array, group_sizes: Array, *, result: TensorType, **given: Any
) -> Array:
    """Return sums of products, for each group of a ragged dimension of lhs (see `Mode`)."""
    product = partial(matmul, to=result.element, boolean=lhs.dtype == np.bool_)
    return products_of_groups(lhs, rhs, group_sizes, ragged_numbers(**given), product)


OPS: tuple[Op, ...] = (
    Op(
        name="chlo.ragged_dot", dialect=Dialect.CHLO, specified=False,
        type_function=ragged_dot_type, evaluate=ragged_dot,
        operands=("lhs", "rhs", "group_sizes"),
        attributes=(*_DOT, *_RAGGED, "precision_config"),
        optional=(*_DOT, *_RAGGED[1:], "precision_config"), constraints=_IDS,
        element_types=ALL, principal=FIRST_OPERAND, quantized=QuantizedUse.REFUSES,
        rounding=Rounding.ACCUMULATES, structure=Structure.COMPUTES, lifts=False,
        needs_result=True,
    ),
)  # fmt: skip
"""The ops of this family."""
