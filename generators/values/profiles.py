"""Value profiles by op: for each op and type the permitted combinations.

A row has one profile name for each operand. Rows are repeated for weight; the first is the
simplest. Every general profile of a type occurs for every op, unless it nearly always leads to
unspecified results (shifts by more than the width, division by zero).
"""

from __future__ import annotations

from dataclasses import dataclass

from generators.values.contents import PROFILES, profiles_of
from generators.values.undecided import UNDECIDED
from reference.ir.types import ElementType

ProfileRow = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """The values that suit an op's operands, besides the general profiles.

    `emphasis` lists the most interesting profiles of a unary function, drawn more often. `integers`
    are the rows for integer operands, `floats` rows for others. `related`: whether operands of one
    type are sometimes derived from each other, equal or adjacent in places; that is useless if they
    have different roles.
    """

    emphasis: tuple[str, ...] = ()
    integers: tuple[ProfileRow, ...] = ()
    floats: tuple[ProfileRow, ...] = ()
    related: bool = True


ANY = Values()
"""Values of ops whose operands only have the general profiles."""

_FLOAT_PAIRS: tuple[ProfileRow, ...] = (
    ("small_integers", "moderate"), ("special", "moderate"), ("moderate", "special"),
    ("wide", "small_integers"), ("large", "unit"), ("unit", "large"), ("subnormal", "near_one"),
    ("moderate", "subnormal"), ("large", "near_one"), ("wide", "tiny"), ("mixed", "mixed"),
)  # fmt: skip
_MEETINGS: tuple[ProfileRow, ...] = (
    ("special", "special"), ("mixed", "mixed"), ("subnormal", "moderate"),
)  # fmt: skip
"""Combinations in which both operands have special values, such as NaN and NaN: some faults show
only then.
"""

POWER_PAIRS: tuple[ProfileRow, ...] = (
    ("positive", "moderate"), ("positive", "unit"), ("near_one", "large"), ("near_one", "wide"),
    ("moderate", "small_integers"), ("special", "small_integers"), ("special", "ties"),
    ("perfect_powers", "ties"), ("perfect_powers", "unit"), ("positive", "tiny"),
    ("special", "special"), ("wide", "small_integers"),
)  # fmt: skip
_ON_AXES: tuple[ProfileRow, ...] = (
    ("axes", "small_integers"), ("axes", "moderate"), ("axes", "ties"), ("moderate", "axes"),
)  # fmt: skip
"""Bases and exponents with one part zero, where branch cuts meet."""

SHIFT_ROWS: tuple[ProfileRow, ...] = tuple(
    (name, "shift_amounts") for name in ("small_integers", "special", "wide", "bits", "moderate")
)
DIVISION_ROWS: tuple[ProfileRow, ...] = (
    ("small_integers", "nonzero"), ("special", "nonzero"), ("wide", "nonzero"),
    ("bits", "nonzero"), ("moderate", "nonzero"), ("bits", "bits"), ("special", "special"),
    ("wide", "wide"), ("bits", "small_integers"), ("lower", "nonzero"), ("upper", "nonzero"),
)  # fmt: skip
INTEGER_POWER_ROWS: tuple[ProfileRow, ...] = (
    *((name, "small_exponents") for name in (
        "small_integers", "special", "moderate", "bits", "wide", "nonzero", "lower", "upper",
        "small_integers", "moderate",
    )),
    ("small_integers", "small_integers"), ("special", "special"),
)  # fmt: skip


def rows(element_type: ElementType, values: Values = ANY) -> tuple[ProfileRow, ...]:
    """Return the rows of a unary or binary op on a type (unary ops ignore the second name)."""
    if element_type.is_integer and values.integers:
        return values.integers
    every = tuple((name, name) for name in profiles_of(element_type))
    if element_type.is_integer or element_type.is_boolean:
        return every
    if values.floats:
        on_axes = _ON_AXES if element_type.is_complex else ()
        return (*every, *values.floats * 2, *on_axes)
    if values.emphasis:
        return (*every, *((name, name) for name in values.emphasis * 3))
    return (*every, *_FLOAT_PAIRS, *_MEETINGS * 3)


def undecided_rows(op: str, element_type: ElementType) -> tuple[ProfileRow, ...]:
    """Return rows of complex numbers at which an op needs certified arithmetic; few ops have any.

    `power` has them as bases, with an exponent of -2.
    """
    if op not in UNDECIDED or element_type.name != "complex<f32>":
        return ()
    return ((f"undecided_{op}", "values:-2"),)


def clamp_rows(element_type: ElementType) -> tuple[ProfileRow, ...]:
    """Return rows (min, operand, max): mostly min <= max."""
    names = profiles_of(element_type)
    if element_type.is_boolean:
        return (("bits", "bits", "bits"),)
    ordered = tuple(("lower", name, "upper") for name in names)
    return (("lower", "small_integers", "upper"), *ordered, *((n, n, n) for n in names[:3]))


def select_rows(element_type: ElementType) -> tuple[ProfileRow, ...]:
    """Return rows (pred, on_true, on_false)."""
    return tuple(("bits", name, name) for name in profiles_of(element_type))


def conversion_rows(element_type: ElementType, to: ElementType) -> tuple[ProfileRow, ...]:
    """Return rows for a conversion: mostly values that the result type can hold, and its ties."""
    general = tuple((name,) for name in profiles_of(element_type))
    wanted = wanted_rows(element_type, to)
    # Out of range is unspecified for integers (#180): a third of the rows may be out of range.
    often = 2 * len(general) if to.is_integer else 4
    return (("small_integers",), *wanted * often, *general) if wanted else general


def wanted_rows(element_type: ElementType, to: ElementType) -> tuple[ProfileRow, ...]:
    """Return the rows that each conversion between two number types should cover.

    These are values that the result type can hold, and midpoints between its values if there are
    any.
    """
    if element_type.is_boolean or to.is_boolean:
        return ()
    in_range = (f"range_{to.part.name}",)
    if to.is_integer:
        return (in_range,)
    ties = PROFILES[f"ties_{to.part.name}"]
    has_some = ties.integers if element_type.is_integer else ties.floats
    return (in_range, (ties.name,)) if has_some and _is_wider(element_type, to) else (in_range,)


def _is_wider(element_type: ElementType, to: ElementType) -> bool:
    precision = (
        element_type.bits if element_type.is_integer else element_type.float_format.precision
    )
    return precision > to.float_format.precision
