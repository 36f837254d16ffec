"""Cases of the elementwise ops: programs of one op, and recipes for their inputs.

A case is built by a function of (element type, pick): with a Hypothesis strategy behind `pick` it
is drawn and shrunk, with plan.py's words behind it a batch is made without Hypothesis's overhead.
Programs are valid by construction. Choice 0 is the simplest everywhere: rank 0, sizes of 1,
parameters rather than constants, small integers, one input set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from generators import profiles
from generators.profiles import Row
from generators.programs import Case, InputRecipe
from generators.shapes import Pick, choose, shape
from generators.types import ELEMENT_TYPES_OF, bitcast_results
from generators.values import fill, profiles_of
from reference.elementwise import COMPLEX_OF, DIRECTIONS, compare_types_of
from reference.program import Attribute, Dense, TensorType, Value, single_op
from reference.types import ALL, BOOLEAN, ElementType

Builder = Callable[[ElementType, Pick], Case]
"""builder(element_type, pick): the case that these choices make."""

_I1 = BOOLEAN[0]
_LARGEST_CONSTANT = 2048
"""Elements; a constant beyond is a splat, for the sake of the size of the program's text."""
_LARGEST_BITCAST = 4096  # elements of the narrower type; only `i1` gets near
_INPUT_SETS = (1, 3, 4, 5, 5, 5, 5, 6)
_CORRELATIONS = ("independent",) * 5 + ("equal", "negated", "one_ulp")


def _constant(of: TensorType, profile: str, seed: int, *, splat: bool) -> Dense:
    if splat or math.prod(of.static_shape) > _LARGEST_CONSTANT:
        one = fill(TensorType((), of.element_type), profile, seed)
        return Dense.of(np.broadcast_to(one, of.static_shape), of)
    return Dense.of(fill(of, profile, seed), of)


def _operand(pick: Pick, name: str, of: TensorType, names: Row) -> Value | Dense:
    """A parameter, or one in four times a constant.

    A constant takes more choices than a parameter with one input set does: shrinking prefers few.
    """
    if pick(4) < 3:
        return Value(name, of)
    splat = pick(4) == 3
    return _constant(of, choose(pick, names), pick(1 << 32), splat=splat)


def _inputs(
    pick: Pick, operands: tuple[Value | Dense, ...], rows: tuple[Row, ...], *, related: bool
) -> tuple[InputRecipe, ...]:
    """Recipes for the operands that are parameters; a single one where there is none."""
    numbers = {operand: n for n, operand in reversed([*enumerate(operands)])}
    parameters = [numbers[o] for o in dict.fromkeys(operands) if isinstance(o, Value)]
    if not parameters:
        return (InputRecipe((), 0),)
    seed = pick(1 << 32)
    recipes: list[InputRecipe] = []
    for number in range(choose(pick, _INPUT_SETS)):
        row = choose(pick, rows)
        correlation = choose(pick, _CORRELATIONS) if related else "independent"
        recipes.append(InputRecipe(tuple(row[n] for n in parameters), seed + number, correlation))
    return tuple(recipes)


def _case(
    pick: Pick,
    op: str,
    operands: dict[str, TensorType],
    result: TensorType,
    rows: tuple[Row, ...],
    given: dict[str, Attribute] | None = None,
    *,
    related: bool = False,
) -> Case:
    """The case of one op on operands of these types, placed and filled as `pick` says.

    `rows` has the value profiles that may meet, one name for each operand. `related`: whether
    operands of one type may be correlated, or be one and the same value.
    """
    placed = tuple(
        _operand(pick, name, of, tuple(row[number] for row in rows))
        for number, (name, of) in enumerate(operands.items())
    )
    if related and pick(12) == 11:
        placed = tuple(placed[0] if one.type == placed[0].type else one for one in placed)
    program = single_op(op, placed, (result,), given)
    return Case(program, _inputs(pick, placed, rows, related=related))


def _unary(op: str, of: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    result = profiles.RESULT_OF.get(op, profiles.same)(of)
    operand = "x" if op == "is_finite" else "operand"
    types = {operand: TensorType(size, of)}
    return _case(pick, op, types, TensorType(size, result), profiles.rows(op, of))


def _binary(op: str, of: ElementType, pick: Pick) -> Case:
    kind = TensorType(shape(pick), of)
    result = TensorType(kind.shape, COMPLEX_OF[of.name]) if op == "complex" else kind
    related = op not in profiles.ASYMMETRIC
    types = {"lhs": kind, "rhs": kind}
    return _case(pick, op, types, result, profiles.rows(op, of), related=related)


@cache
def compare_attributes(of: ElementType) -> tuple[dict[str, Attribute], ...]:
    """Every direction with every `compare_type` valid for the type (C3), and without one."""
    kinds: tuple[dict[str, Attribute], ...]
    kinds = (*({"compare_type": kind} for kind in compare_types_of(of)), {})
    return tuple({"comparison_direction": way, **kind} for way in DIRECTIONS for kind in kinds)


def _compare(op: str, of: ElementType, pick: Pick) -> Case:
    given = choose(pick, compare_attributes(of))
    kind = TensorType(shape(pick), of)
    types, result = {"lhs": kind, "rhs": kind}, TensorType(kind.shape, _I1)
    return _case(pick, op, types, result, profiles.rows(op, of), given, related=True)


def _convert(op: str, of: ElementType, pick: Pick) -> Case:
    to = choose(pick, ALL)
    size = shape(pick)
    types = {"operand": TensorType(size, of)}
    return _case(pick, op, types, TensorType(size, to), profiles.conversion_rows(of, to))


def _bitcast_convert(op: str, of: ElementType, pick: Pick) -> Case:
    to = choose(pick, bitcast_results(of))
    ratio = max(to.bits, of.bits) // min(to.bits, of.bits)
    before = after = shape(pick)
    if math.prod(before) * ratio > _LARGEST_BITCAST:
        before = after = tuple(min(size, 3) for size in before)
    if to.bits < of.bits:
        after = (*before, ratio)
    elif to.bits > of.bits:
        before = (*after, ratio)
    types = {"operand": TensorType(before, of)}
    return _case(pick, op, types, TensorType(after, to), profiles.rows(op, of))


def _clamp(op: str, of: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    scalar, full = TensorType((), of), TensorType(size, of)
    low, high = choose(pick, ((scalar, scalar), (full, full), (scalar, full), (full, scalar)))
    types = {"min": low, "operand": full, "max": high}
    return _case(pick, op, types, full, profiles.clamp_rows(of), related=pick(4) == 3)


def _select(op: str, of: ElementType, pick: Pick) -> Case:
    size = shape(pick)
    full = TensorType(size, of)
    predicate = TensorType(choose(pick, (size, size, ())), _I1)
    types = {"pred": predicate, "on_true": full, "on_false": full}
    return _case(pick, op, types, full, profiles.select_rows(of), related=True)


@cache
def precisions(of: ElementType) -> tuple[dict[str, Attribute], ...]:
    """Numbers of exponent and mantissa bits: the least, the type's own, next to it, beyond."""
    fmt = of.float_format
    exponents = (fmt.exponent_bits, 1, 2, 4, 5, 8, 11)
    mantissas = (fmt.mantissa_bits, 0, 1, 2, 3, 7, 10, 23, 52)
    return tuple(
        {"exponent_bits": e, "mantissa_bits": m}
        for e in _around(exponents, 1, fmt.exponent_bits)
        for m in _around(mantissas, 0, fmt.mantissa_bits)
    )


def _around(numbers: tuple[int, ...], least: int, own: int) -> tuple[int, ...]:
    wanted = dict.fromkeys((*numbers, own - 1, own + 1, own + 2))
    return tuple(number for number in wanted if least <= number <= own + 2)


def _reduce_precision(op: str, of: ElementType, pick: Pick) -> Case:
    given = choose(pick, precisions(of))
    kind = TensorType(shape(pick), of)
    return _case(pick, op, {"operand": kind}, kind, profiles.rows(op, of), given)


def _iota(op: str, of: ElementType, pick: Pick) -> Case:
    size = shape(pick, min_rank=1)
    program = single_op(op, (), (TensorType(size, of),), {"iota_dimension": pick(len(size))})
    return Case(program, (InputRecipe((), 0),))


def _constants(op: str, of: ElementType, pick: Pick) -> Case:
    kind = TensorType(shape(pick), of)
    profile = choose(pick, profiles_of(of))
    value = _constant(kind, profile, pick(1 << 32), splat=pick(6) == 5)
    return Case(single_op(op, (), (kind,), {"value": value}), (InputRecipe((), 0),))


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
BINARY = frozenset({
    "add", "and", "atan2", "complex", "divide", "maximum", "minimum", "multiply", "or", "power",
    "remainder", "shift_left", "shift_right_arithmetic", "shift_right_logical", "subtract", "xor",
})  # fmt: skip
"""The ops of two operands, lhs and rhs, of one type (`compare` has attributes besides)."""


def builder(op: str) -> Builder:
    """The function that builds an op's cases.

    Raises:
        KeyError: when the op is not an elementwise one.
    """
    if op not in ELEMENT_TYPES_OF:
        raise KeyError(f"no cases for op {op!r}; known: {', '.join(ELEMENT_TYPES_OF)}")
    general = _binary if op in BINARY else _unary
    return partial(_SPECIFIC.get(op, general), op)


@cache
def _integers(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)


@st.composite
def _drawn(draw: DrawFn, build: Builder, of: ElementType) -> Case:
    return build(of, lambda count: draw(_integers(count)) if count > 1 else 0)


def strategy(op: str, element_type: ElementType) -> SearchStrategy[Case]:
    """Cases of an op in one cell, as a Hypothesis strategy that shrinks to the simplest.

    Raises:
        ValueError: when the op does not take the element type.
    """
    if element_type not in ELEMENT_TYPES_OF[op]:
        raise ValueError(f"{op} takes no tensor of {element_type}")
    return _drawn(builder(op), element_type)


STRATEGIES: dict[str, Callable[[ElementType], SearchStrategy[Case]]] = {
    op: partial(strategy, op) for op in ELEMENT_TYPES_OF
}
"""For each op, the strategy of its cases as a function of the element type."""
