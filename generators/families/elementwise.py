"""Cases of the elementwise ops: programs of one op, and recipes for their inputs."""

from __future__ import annotations

import math
from functools import partial

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import axis, shape
from generators.case.types import bitcast_results
from generators.programs.building import Builder, case, constant
from generators.values import profiles
from generators.values.contents import profiles_of
from generators.values.profiles import Values
from reference.ir.program import Attribute, TensorType, single_op
from reference.ir.types import ALL, BOOLEAN, ElementType
from reference.ops.elementwise.elementwise import OPS as RECORDS
from reference.ops.elementwise.elementwise import SHIFTS
from reference.ops.elementwise.types import DIRECTIONS, compare_types_of
from reference.ops.table import OPS

_I1 = BOOLEAN[0]
_COMMON = (
    "f32", "bf16", "f16", "f64", "si32", "si64", "si8", "ui8", "i1", "f8E4M3FN", "ui32", "f8E5M2",
)  # fmt: skip
_COMMON_FIRST = tuple(
    sorted(ALL, key=lambda row: _COMMON.index(row.name) if row.name in _COMMON else len(_COMMON))
)
"""Every element type, with common types of conversions first: short runs test these."""

_LARGEST_BITCAST = 4096  # elements of the narrower type; only `i1` gets near


_case = partial(case, specials=True)


def uniform_case(
    op: str, element_type: ElementType, pick: Pick, *, values: Values = profiles.ANY
) -> Case:
    """Return a case of an op whose operands have one type, which implies the result type."""
    record = OPS[op]
    kind = TensorType(shape(pick), element_type)
    types = dict.fromkeys(record.operands, kind)
    result = record.infer(*types.values())
    related = len(types) > 1 and values.related
    rows = profiles.rows(element_type, values)
    undecided = profiles.undecided_rows(op, element_type)
    if undecided and seldom(pick, 12, "undecided in extended precision", paired=False):
        rows = undecided
    return _case(pick, op, types, (result,), rows, related=related)


def compare_attributes(element_type: ElementType) -> tuple[dict[str, Attribute], ...]:
    """Return every direction with every `compare_type` valid for the type (C3), and without."""
    kinds: tuple[dict[str, Attribute], ...]
    kinds = (*({"compare_type": kind} for kind in compare_types_of(element_type)), {})
    return tuple({"comparison_direction": way, **kind} for way in DIRECTIONS for kind in kinds)


def _compare(op: str, element_type: ElementType, pick: Pick) -> Case:
    given = choose(pick, compare_attributes(element_type), "direction and type")
    kind = TensorType(shape(pick), element_type)
    types, result = {"lhs": kind, "rhs": kind}, TensorType(kind.shape, _I1)
    return _case(pick, op, types, (result,), profiles.rows(element_type), given, related=True)


def _convert(op: str, element_type: ElementType, pick: Pick) -> Case:
    to = choose(pick, _COMMON_FIRST, "to")
    size = shape(pick)
    types = {"operand": TensorType(size, element_type)}
    rows = profiles.conversion_rows(element_type, to)
    wanted = profiles.wanted_rows(element_type, to)
    return _case(pick, op, types, (TensorType(size, to),), rows, always=wanted)


def _bitcast_convert(op: str, element_type: ElementType, pick: Pick) -> Case:
    to = choose(pick, bitcast_results(element_type), "to")
    ratio = max(to.bits, element_type.bits) // min(to.bits, element_type.bits)
    before = after = shape(pick)
    if math.prod(before) * ratio > _LARGEST_BITCAST:
        before = after = tuple(min(size, 3) for size in before)
    if to.bits < element_type.bits:
        after = (*before, ratio)
    elif to.bits > element_type.bits:
        before = (*after, ratio)
    types = {"operand": TensorType(before, element_type)}
    return _case(pick, op, types, (TensorType(after, to),), profiles.rows(element_type))


def _clamp(op: str, element_type: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    scalar, full = TensorType((), element_type), TensorType(size, element_type)
    low, high = choose(
        pick, ((scalar, scalar), (full, full), (scalar, full), (full, scalar)), "bounds", _ranks
    )
    types = {"min": low, "operand": full, "max": high}
    return _case(pick, op, types, (full,), profiles.clamp_rows(element_type), related=pick(4) == 3)


def _ranks(types: tuple[TensorType, TensorType]) -> str:
    return " ".join("scalar" if kind.rank == 0 else "full" for kind in types)


def _select(op: str, element_type: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    full = TensorType(size, element_type)
    each = seldom(pick, 3, "one pred for all")
    predicate = TensorType(() if each else size, _I1)
    types = {"pred": predicate, "on_true": full, "on_false": full}
    return _case(pick, op, types, (full,), profiles.select_rows(element_type), related=True)


def precisions(element_type: ElementType) -> tuple[dict[str, Attribute], ...]:
    """Return exponent and mantissa bits: the minimum, the type's own, adjacent, larger."""
    fmt = element_type.float_format
    exponents = (fmt.exponent_bits, 1, 2, 5, 8, 11)
    mantissas = (fmt.mantissa_bits, 0, 1, 7, 10, 23, 52)
    return tuple(
        {"exponent_bits": e, "mantissa_bits": m}
        for e in _add_adjacent_numbers(exponents, 1, fmt.exponent_bits)
        for m in _add_adjacent_numbers(mantissas, 0, fmt.mantissa_bits)
    )


def _add_adjacent_numbers(numbers: tuple[int, ...], least: int, own: int) -> tuple[int, ...]:
    wanted = dict.fromkeys((*numbers, own - 1, own + 1, own + 2))
    return tuple(number for number in wanted if least <= number <= own + 2)


def _reduce_precision(op: str, element_type: ElementType, pick: Pick) -> Case:
    given = choose(pick, precisions(element_type), "exponent_bits, mantissa_bits", paired=False)
    kind = TensorType(shape(pick), element_type)
    return _case(
        pick, op, {"operand": kind}, (kind,), profiles.rows(element_type, VALUES[op]), given
    )


def _iota(op: str, element_type: ElementType, pick: Pick) -> Case:
    size = shape(pick, min_rank=1)
    along = axis(pick, len(size), "iota_dimension")
    beyond = _count_beyond_type(element_type)
    if beyond is not None and seldom(pick, 8, "indices beyond the type"):
        size = tuple(beyond if d == along else min(n, 2) for d, n in enumerate(size))
    pick.has_empty_results = 0 in size
    given: dict[str, Attribute] = {"iota_dimension": along}
    program = single_op(op, (), (TensorType(size, element_type),), given)
    return Case(program, (InputRecipe((), 0),))


_FAR = 512
"""An index that exceeds all tested sizes: floating-point types that hold it hold all those
sizes.
"""


def _count_beyond_type(element_type: ElementType) -> int | None:
    """Return a number of indices that exceeds a narrow floating-point type; None for wide types.

    An index that an integer type cannot hold is unspecified.
    """
    most = math.inf if element_type.is_integer else element_type.float_format.max_finite
    return math.floor(most) + 10 if most < _FAR else None


def _constants(op: str, element_type: ElementType, pick: Pick) -> Case:
    kind = TensorType(shape(pick), element_type)
    profile = choose(pick, profiles_of(element_type), "contents", paired=False)
    value = constant(kind, profile, pick(1 << 32), splat=seldom(pick, 6, "splat"))
    pick.has_empty_results = 0 in kind.shape
    return Case(single_op(op, (), (kind,), {"value": value}), (InputRecipe((), 0),))


VALUES: dict[str, Values] = {
    **dict.fromkeys(SHIFTS, Values(integers=profiles.SHIFT_ROWS, related=False)),
    "cbrt": Values(("perfect_powers", "wide")),
    "ceil": Values(("ties", "moderate")),
    "complex": Values(related=False),
    "cosine": Values(("trig", "moderate")),
    "divide": Values(integers=profiles.DIVISION_ROWS),
    "exponential": Values(("exp_domain", "moderate")),
    "exponential_minus_one": Values(("exp_domain", "tiny", "moderate")),
    "floor": Values(("ties", "moderate")),
    "log": Values(("positive", "near_one", "perfect_powers")),
    "log_plus_one": Values(("tiny", "positive", "near_one")),
    "logistic": Values(("exp_domain", "moderate")),
    "power": Values(
        integers=profiles.INTEGER_POWER_ROWS, floats=profiles.POWER_PAIRS, related=False
    ),
    "reduce_precision": Values(("midpoints", "wide", "subnormal")),
    "remainder": Values(integers=profiles.DIVISION_ROWS),
    "round_nearest_afz": Values(("ties", "moderate")),
    "round_nearest_even": Values(("ties", "moderate")),
    "rsqrt": Values(("positive", "perfect_powers")),
    "sine": Values(("trig", "moderate", "tiny")),
    "sqrt": Values(("positive", "perfect_powers")),
    "tan": Values(("trig", "moderate")),
    "tanh": Values(("moderate", "tiny", "unit")),
}  # fmt: skip
"""The values of ops that need more than the general profiles."""

_SPECIFIC = {
    "bitcast_convert": _bitcast_convert,
    "clamp": _clamp,
    "compare": _compare,
    "constant": _constants,
    "convert": _convert,
    "iota": _iota,
    "reduce_precision": _reduce_precision,
    "select": _select,
}
BUILDERS: dict[str, Builder] = {
    record.name: partial(_SPECIFIC[record.name], record.name)
    if record.name in _SPECIFIC
    else partial(uniform_case, record.name, values=VALUES.get(record.name, profiles.ANY))
    for record in RECORDS
}
"""The builder of each op's cases."""
