"""Cases of the ops of reference/ops/contraction.py.

Sizes are drawn under a limit on the number of products; contracted sizes cross the thresholds of
kernels more often than others. Half of the contents are small integers: every sum is then exact in
any order, and a missing term shows. The others follow TOSA's data sets for dot products: zeros,
large exponents, a wide range, one large number among small numbers, cancelling sums; and zeros of
either sign.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import is_large, size_label
from generators.programs.building import Builder, case
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, TensorType
from reference.ir.types import ELEMENT_TYPES as TYPES
from reference.ir.types import FLOATS, ElementType

_MOST_PRODUCTS = 40_000
_MOST_ELEMENTS = 4_096

_SIZES = (1, 2, 3, 4, 5, 7, 8, 9)
_DEPTHS = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65, 127, 128, 129, 255, 256,
    257, 511, 512, 513, 1000, 2049, 0,
)  # fmt: skip
_LONG = (16, 17, 31, 32, 33, 63, 64, 65, 100, 0)


class Sides(NamedTuple):
    """The number and the sizes of dimensions in each role."""

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]


def shuffle(pick: Pick, count: int) -> tuple[int, ...]:
    """Return a permutation of the numbers below `count`; choice 0 keeps them in order."""
    order = list(range(count))
    for at in range(count - 1):
        other = at + pick(count - at)
        order[at], order[other] = order[other], order[at]
    return tuple(order)


def _sides(pick: Pick, depths: tuple[int, ...]) -> Sides:
    batch = choose(pick, (0, 0, 0, 0, 1, 1, 1, 2), "batching dimensions")
    rows = choose(pick, (0, 1, 1, 1, 1, 1, 2), "other dimensions of lhs")
    columns = choose(pick, (0, 1, 1, 1, 1, 1, 2), "other dimensions of rhs")
    depth = choose(pick, (1, 1, 1, 1, 1, 0, 2, 2), "contracting dimensions")
    counts = (batch, rows, columns, depth)
    sizes = [[choose(pick, _SIZES[:5]) for _ in range(count)] for count in counts]
    if depth == 1:
        sizes[3][0] = choose(pick, depths, "contracting size", size_label)
    others = tuple(part for part in sizes[:3] if part)
    if others and seldom(pick, 3, "another size is long"):
        long = choose(pick, others)
        long[pick(len(long))] = choose(pick, _LONG, "long size", size_label)
    return Sides(*(tuple(part) for part in _limit_sizes(sizes)))


def _limit_sizes(sizes: list[list[int]]) -> list[list[int]]:
    """Return the sizes, the largest reduced until there are few enough products and elements."""
    while True:
        batch, rows, columns, depth = map(prod, sizes)
        if (
            batch * rows * columns * depth <= _MOST_PRODUCTS
            and batch * depth * max(rows, columns) <= _MOST_ELEMENTS
        ):
            return sizes
        part = max((p for p in sizes if p), key=max)
        at = part.index(max(part))
        part[at] = part[at] // 2


class Layout(NamedTuple):
    """The shapes of a dot_general and its dimensions."""

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    result: tuple[int, ...]
    attributes: dict[str, Attribute]


_LARGE = (
    Sides((), (96,), (80,), (128,)), Sides((2,), (64,), (65,), (129,)),
    Sides((), (), (300,), (257,)), Sides((), (256,), (1,), (256,)),
)  # fmt: skip
"""Sides that reach the kernels for larger matrices and vectors."""


def layout(element_type: ElementType, pick: Pick, contracted: tuple[int, ...] = _DEPTHS) -> Layout:
    """Return shapes and dimensions of a product: any number of each kind, in any order.

    `contracted` are the sizes of a single contracting dimension.
    """
    of = choose(pick, _LARGE) if is_large(pick, element_type) else _sides(pick, contracted)
    batches, depths = len(of.batch), len(of.depth)
    mixed = not seldom(pick, 3, "dimensions in order")
    left = of.batch + of.rows + of.depth
    right = of.batch + of.depth + of.columns
    # order[i] is the index of the dimension that becomes dimension i of the operand
    lhs_order, rhs_order = (
        shuffle(pick, len(sizes)) if mixed else tuple(range(len(sizes))) for sizes in (left, right)
    )
    summed = shuffle(pick, depths)
    first_depth = batches + len(of.rows)
    given: dict[str, Attribute] = {
        "lhs_batching_dimensions": tuple(lhs_order.index(d) for d in range(batches)),
        "rhs_batching_dimensions": tuple(rhs_order.index(d) for d in range(batches)),
        "lhs_contracting_dimensions": tuple(lhs_order.index(first_depth + d) for d in summed),
        "rhs_contracting_dimensions": tuple(rhs_order.index(batches + d) for d in summed),
    }
    rows = tuple(left[d] for d in lhs_order if batches <= d < first_depth)
    columns = tuple(right[d] for d in rhs_order if d >= batches + depths)
    lhs = tuple(left[d] for d in lhs_order)
    rhs = tuple(right[d] for d in rhs_order)
    return Layout(lhs, rhs, of.batch + rows + columns, given)


_PRECISIONS: tuple[tuple[str, ...], ...] = (
    ("DEFAULT", "DEFAULT"), (), ("HIGHEST", "HIGHEST"), ("HIGH", "HIGH"), ("DEFAULT", "HIGHEST"),
)  # fmt: skip


def precisions(pick: Pick) -> dict[str, Attribute]:
    """Return the attribute `precision_config`, or no attribute."""
    chosen = choose(pick, _PRECISIONS, "precision_config")
    return {"precision_config": chosen} if chosen else {}


Algorithm = tuple[str, str, str, int, int, int, bool]

_PLAIN = ("f32", "f32", "f32", 1, 1, 1, False)
_TF32 = ("tf32", "tf32", "f32", 1, 1, 1, False)
_BF16 = ("bf16", "bf16", "f32", 1, 1, 1, False)
_F16 = ("f16", "f16", "f32", 1, 1, 1, False)
_F64 = ("f64", "f64", "f64", 1, 1, 1, False)
_F8 = ("f8E5M2", "f8E5M2", "f32", 1, 1, 1, False)
_BF16_SUMS = ("bf16", "bf16", "bf16", 1, 1, 1, False)
_F16_SUMS = ("f16", "f16", "f16", 1, 1, 1, False)
_FAST_F8 = ("f8E5M2", "f8E5M2", "f32", 1, 1, 1, True)
_DECOMPOSED: tuple[Algorithm, ...] = (
    ("tf32", "tf32", "f32", 1, 1, 3, False),
    ("bf16", "bf16", "f32", 1, 1, 3, False),
    ("bf16", "bf16", "f32", 1, 1, 6, False),
    ("bf16", "bf16", "f32", 1, 1, 9, False),
    ("bf16", "bf16", "f32", 3, 3, 6, False),
)

_ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    "f32": (
        _PLAIN, _TF32, _BF16, _BF16_SUMS, _F16, _F16_SUMS, _F64, _F8, _FAST_F8,
        ("f8E4M3FN", "f8E5M2", "f32", 1, 1, 1, False), *_DECOMPOSED,
    ),
    "f64": (_PLAIN, _TF32, _BF16, _F64), "f16": (_PLAIN, _BF16, _F16, _F16_SUMS, _F8),
    "bf16": (_PLAIN, _BF16, _BF16_SUMS, _F16, _F8),
    **{
        of.name: tuple((of.name, of.name, "f32", 1, 1, 1, fast) for fast in (False, True))
        for of in FLOATS
        if of.bits == 8 and of.float_format.mantissa_bits
    },
}  # fmt: skip
"""Algorithms for each type of the operands: the specification's examples, and algorithms of XLA's
list to which it refers (xla_data.proto, `PrecisionConfig.Algorithm`). Precision types do not depend
on the operands' types. MLIR's verifier accepts bf16_3x and similar algorithms only with one
component on each side; the specification's example has three.
"""

_FIELDS = (
    "lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
    "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation",
)  # fmt: skip


def _precision(element_type: ElementType, pick: Pick) -> dict[str, Attribute]:
    known = _ALGORITHMS.get(element_type.name, ())
    options = (None,) * 7 * len(known) + known
    chosen = choose(pick, options, "algorithm", paired=False) if known else None
    if chosen:
        algorithm = dict(zip(_FIELDS, chosen, strict=True))
        return {**algorithm, "precision_config": ("DEFAULT", "DEFAULT")}
    return precisions(pick)


_WIDER: dict[str, tuple[str, ...]] = {
    "si2": ("si32",), "si4": ("si8", "si32"), "si8": ("si16", "si32"), "si16": ("si32",),
    "si32": ("si64",), "ui2": ("ui32",), "ui4": ("ui8", "si32"), "ui8": ("ui32", "si32"),
    "ui16": ("ui32",), "ui32": ("ui64",), "f32": ("f64",),
    "complex<f32>": ("complex<f64>",),
    **{of.name: ("f32",) for of in FLOATS if of.bits <= 8},
    "bf16": ("f32",), "f16": ("f32",),
    "f8E4M3": ("f32", "f8E4M3FNUZ"), "f8E4M3FNUZ": ("f32", "f8E4M3"),
    "f8E5M2": ("f32", "f8E5M2FNUZ"), "f8E5M2FNUZ": ("f32", "f8E5M2"),
}  # fmt: skip
"""Types to which an element type can be promoted. They include types of the same width and
precision, whose other bits differ in meaning."""

_NARROWER: dict[str, tuple[str, ...]] = {
    "si4": ("si2",), "si8": ("si4",), "si16": ("si8",), "si32": ("si16", "si8"),
    "si64": ("si32", "si8"), "ui4": ("ui2",), "ui8": ("ui4",), "ui16": ("ui8",),
    "ui32": ("ui16",), "ui64": ("ui32",), "f64": ("f32", "bf16"), "f32": ("bf16", "f16"),
    "f16": ("f8E5M2", "f8E4M3", "bf16"), "bf16": ("f8E4M3FN", "f8E5M2FNUZ", "f16"),
    "complex<f64>": ("complex<f32>",), "f8E3M4": ("f8E4M3",), "f8E4M3": ("f8E5M2",),
    "f8E4M3FN": ("f8E5M2",), "f8E4M3FNUZ": ("f8E5M2FNUZ",), "f8E4M3B11FNUZ": ("f8E5M2",),
    "f8E5M2": ("f4E2M1FN",), "f6E2M3FN": ("f6E3M2FN", "f4E2M1FN"), "f6E3M2FN": ("f4E2M1FN",),
}  # fmt: skip
"""Types of fewer bits, or (of floats) of less precision or range."""


def result_of(element_type: ElementType, pick: Pick, *, may_narrow: bool = False) -> ElementType:
    """Return the element type of a result: the operands' own, a wider or a narrower type.

    StableHLO accumulates in the result's type, to which the operands' type must be promotable;
    XlaBuilder's `preferred_element_type` is of "higher or lower precision" (`may_narrow`).
    """
    own = element_type.name
    others = _WIDER.get(own, ()) + (_NARROWER.get(own, ()) if may_narrow else ())
    return TYPES[choose(pick, (own,) * 3 + (others or (own,)), "result type")]


_EXACT: ProfileRow = ("small_integers", "small_integers")
_FLOAT_ROWS: tuple[ProfileRow, ...] = (
    *(_EXACT,) * 8,
    *(("moderate", "moderate"), ("unit", "moderate"), ("near_one", "unit")) * 2,
    ("values:0", "moderate"), ("exponents:-6:6", "exponents:-6:6"), ("unit", "values:0"),
    ("exponents:-20:20", "exponents:-8:8"), ("exponents:50:60", "exponents:-60:-50"),
    ("exponents:40:50", "unit"), ("lone_one", "values:1"), ("lone_one", "near_one"),
    ("cancelling", "values:1"), ("cancelling", "near_one"), ("special", "small_integers"),
    ("mixed", "mixed"), ("tiny", "moderate"), ("negative_zeros", "positive"),
    ("mixed_zeros", "moderate"), ("values:1", "negative_zeros"), ("unit", "mixed_zeros"),
)  # fmt: skip
_COMPLEX_ROWS = tuple(
    row for row in _FLOAT_ROWS if not {"special", "mixed"} & set(row) and row[0] != "cancelling"
)
_INTEGER_ROWS: tuple[ProfileRow, ...] = (
    *(_EXACT,) * 2, ("bits", "bits"), ("moderate", "bits"), ("wide", "wide"), ("special", "bits"),
    ("bits", "special"), ("values:0", "bits"), ("values:1", "wide"), ("special", "special"),
)  # fmt: skip


def value_rows(element_type: ElementType) -> tuple[ProfileRow, ...]:
    """Return the profiles of the operands of a sum of products."""
    if element_type.is_boolean:
        return (("bits", "bits"), ("values:0", "bits"), ("values:1", "bits"))
    if element_type.is_integer:
        return _INTEGER_ROWS
    return _COMPLEX_ROWS if element_type.is_complex else _FLOAT_ROWS


def dot_general(element_type: ElementType, pick: Pick, *, may_narrow: bool = False) -> Case:
    """Return a product of any dimensions; see `result_of` for `may_narrow`."""
    of = layout(element_type, pick)
    types = {"lhs": TensorType(of.lhs, element_type), "rhs": TensorType(of.rhs, element_type)}
    result = TensorType(of.result, result_of(element_type, pick, may_narrow=may_narrow))
    given = of.attributes | _precision(element_type, pick)
    return case(pick, "dot_general", types, (result,), value_rows(element_type), given)


def _dot(element_type: ElementType, pick: Pick) -> Case:
    return _vectors_and_matrices(element_type, element_type, pick)


def preferring_dot(element_type: ElementType, pick: Pick) -> Case:
    """Return a product of vectors and matrices with a result of any width."""
    return _vectors_and_matrices(element_type, result_of(element_type, pick, may_narrow=True), pick)


def _vectors_and_matrices(element_type: ElementType, made: ElementType, pick: Pick) -> Case:
    depth = choose(pick, _DEPTHS[:22], "contracting size", size_label)
    lhs = (*(choose(pick, _SIZES),) * choose(pick, (0, 1, 1), "other dimensions of lhs"), depth)
    rhs = (depth, *(choose(pick, _SIZES),) * choose(pick, (0, 1, 1), "other dimensions of rhs"))
    types = {"lhs": TensorType(lhs, element_type), "rhs": TensorType(rhs, element_type)}
    result = TensorType((*lhs[:-1], *rhs[1:]), made)
    return case(pick, "dot", types, (result,), value_rows(element_type), precisions(pick))


_EINSUMS = (
    "i,i->", "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "ijk,jl->ilk", "ij,ij->i", "i,j->ji",
    "bij,bkj->ikb", "ij,jkl->kli",
)  # fmt: skip
_UNARY_EINSUMS = ("i->i", "ij->ji", "ij->i", "ij->", "ijk->kji", "ijk->k")


def _einsum_shapes(pick: Pick, config: str) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the operands, then the shape of the result."""
    letters = sorted(set(config) - set(",->"))
    sizes = {letter: choose(pick, _SIZES) for letter in letters}
    parts = config.replace("->", ",").split(",")
    return tuple(tuple(sizes[letter] for letter in part) for part in parts)


def _einsum(element_type: ElementType, pick: Pick) -> Case:
    config = choose(pick, _EINSUMS, "einsum_config")
    lhs, rhs, result = (TensorType(shape, element_type) for shape in _einsum_shapes(pick, config))
    types = {"lhs": lhs, "rhs": rhs}
    return case(
        pick, "einsum", types, (result,), value_rows(element_type), {"einsum_config": config}
    )


def _unary_einsum(element_type: ElementType, pick: Pick) -> Case:
    config = choose(pick, _UNARY_EINSUMS, "einsum_config")
    operand, result = (TensorType(shape, element_type) for shape in _einsum_shapes(pick, config))
    rows = tuple((row[0],) for row in value_rows(element_type))
    given: dict[str, Attribute] = {"einsum_config": config}
    return case(pick, "unary_einsum", {"operand": operand}, (result,), rows, given)


BUILDERS: dict[str, Builder] = {
    "dot": _dot,
    "dot_general": dot_general,
    "einsum": _einsum,
    "unary_einsum": _unary_einsum,
}
"""The builder of each op's cases."""
