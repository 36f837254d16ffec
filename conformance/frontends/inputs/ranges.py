"""Between which numbers the values of a program lie whatever it is given, as far as that is plain.

So it is known of a sum of squares that it is not negative, and of a position how far it goes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import NamedTuple

import numpy as np

from reference.ir.program import Dense, Operation, Program, QuantizedType, Region, TensorType, Value
from reference.numerics.rounding import to_float64

_LEAST = 1e-300
"""What is positive, but may be as small as can be."""


class Range(NamedTuple):
    """The least and the greatest number that a value's elements may be."""

    low: float
    high: float

    @property
    def is_finite(self) -> bool:
        """Whether both are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)


EVERYTHING = Range(-inf, inf)

CARRIED: dict[str, tuple[int, ...] | None] = {
    "broadcast": (0,), "broadcast_in_dim": (0,), "collective_permute": (0,), "concatenate": None,
    "convert": (0,), "dynamic_broadcast_in_dim": (0,), "dynamic_gather": (0,),
    "dynamic_pad": (0, 1), "dynamic_reshape": (0,), "dynamic_slice": (0,),
    "dynamic_update_slice": (0, 1), "gather": (0,), "get_tuple_element": (), "all_gather": (0,),
    "optimization_barrier": None, "pad": (0, 1), "real_dynamic_slice": (0,),
    "reduce_precision": (0,), "reshape": (0,), "reverse": (0,), "round_nearest_afz": (0,),
    "round_nearest_even": (0,), "select": (1, 2), "set_dimension_size": (0,), "slice": (0,),
    "sort": None, "torch_index_select": (0,), "transpose": (0,),
}  # fmt: skip
"""Ops that give on elements of their operands, and of which: None stands for the operand of the
same number as the result, or for all where there is a single result."""


def carried(operation: Operation, number: int) -> tuple[Value, ...]:
    """The operands whose elements go into result `number`; none where they are changed."""
    if operation.name not in CARRIED:
        return ()
    positions = CARRIED[operation.name]
    if positions is not None:
        return tuple(operation.operands[position] for position in positions)
    if len(operation.results) == 1:
        return operation.operands
    return operation.operands[number : number + 1]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of values, by name: their ranges, and the operations that make them."""

    ranges: dict[str, Range]
    makers: dict[str, Operation]


def known_of(program: Program) -> Known:
    """What is known of the values of a program, which must be one function."""
    makers = {value.name: operation for operation in program.walk() for value in operation.results}
    known = Known({argument.name: of_type(argument) for argument in program.main.arguments}, makers)
    _region(program.main.body, known)
    return known


def of_type(value: Value) -> Range:
    """What the type of a value says."""
    of = value.type
    if not isinstance(of, TensorType) or isinstance(of.element_type, QuantizedType):
        return EVERYTHING
    element = of.element_type
    if element.is_boolean:
        return Range(0, 1)
    if element.is_integer and element.is_unsigned:
        return Range(0, inf)
    return EVERYTHING


def _region(region: Region, known: Known) -> None:
    found = known.ranges
    for operation in region.operations:
        for inner, given in _inner(operation, found):
            found.update(zip((a.name for a in inner.arguments), given, strict=False))
            _region(inner, known)
        for number, result in enumerate(operation.results):
            most = of_type(result)
            plain = _result(operation, number, known)
            if isnan(plain.low) or isnan(plain.high):
                plain = EVERYTHING
            found[result.name] = Range(max(plain.low, most.low), min(plain.high, most.high))


def _inner(
    operation: Operation, found: dict[str, Range]
) -> Iterable[tuple[Region, Sequence[Range]]]:
    """The regions of an operation, with the ranges of their arguments."""
    operands = [found[value.name] for value in operation.operands]
    for region in operation.regions:
        given = [of_type(argument) for argument in region.arguments]
        if operation.name == "while":
            ends = operation.regions[1].operations[-1].operands
            kept = zip(ends, operation.regions[1].arguments, operands, given, strict=True)
            given = [r if end.name == a.name else of for end, a, r, of in kept]
        elif operation.name in ("reduce", "reduce_window"):
            count = len(given) // 2
            given[count:] = operands[:count]
        elif operation.name == "map":
            given = operands
        yield region, given


def _result(operation: Operation, number: int, known: Known) -> Range:
    found = known.ranges
    if operation.name == "constant":
        return _constant(operation.attribute("value"))
    if operation.name == "iota":
        of, dimension = operation.results[0].type, operation.attribute("iota_dimension")
        assert isinstance(of, TensorType)
        size = of.shape[int(dimension)] if isinstance(dimension, int) else None
        return Range(0, inf if size is None else max(size - 1, 0))
    given = [found[value.name] for value in operation.operands]
    if operation.name in _RANGES and given:
        return _RANGES[operation.name](operation, given, known)
    if operation.name in ("if", "case"):
        ends = [region.operations[-1].operands[number] for region in operation.regions]
        return _union(found[value.name] for value in ends)
    if operation.name == "while":
        argument = operation.regions[1].arguments[number]
        kept = operation.regions[1].operations[-1].operands[number].name == argument.name
        return given[number] if kept else EVERYTHING
    elements = carried(operation, number)
    return _union(found[value.name] for value in elements) if elements else EVERYTHING


def _constant(value: object) -> Range:
    if not isinstance(value, Dense) or value.type.stored.is_complex:
        return EVERYTHING
    if isinstance(value.type.element_type, QuantizedType):
        return EVERYTHING
    array = value.array
    if not array.size:
        return EVERYTHING
    wide = to_float64(array) if value.type.stored.is_float else array.astype(np.float64)
    return Range(float(wide.min()), float(wide.max()))


def _union(parts: Iterable[Range]) -> Range:
    parts = list(parts)
    if not parts:
        return EVERYTHING
    return Range(min(one.low for one in parts), max(one.high for one in parts))


_Rule = Callable[[Operation, list[Range], Known], Range]


def _add(_: Operation, given: list[Range], __: Known) -> Range:
    one, other = given
    return Range(one.low + other.low, one.high + other.high)


def _subtract(_: Operation, given: list[Range], __: Known) -> Range:
    one, other = given
    return Range(one.low - other.high, one.high - other.low)


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def _multiply(operation: Operation, given: list[Range], known: Known) -> Range:
    one, other = given
    ends = [_product(x, y) for x in one for y in other]
    square = is_square(operation, known)
    low, high = min(ends), max(ends)
    return Range(max(low, 0.0) if square > 0 else low, min(high, 0.0) if square < 0 else high)


def is_square(operation: Operation, known: Known) -> int:
    """1 where an operation multiplies a value with itself or a positive multiple, -1 where with a
    negative one, else 0; complex values are not looked at."""
    (one, sign), (other, turned) = (_root(value, known) for value in operation.operands[:2])
    of = one.type
    is_real = isinstance(of, TensorType) and not of.stored.is_complex
    return sign * turned if one.name == other.name and is_real else 0


def _root(value: Value, known: Known) -> tuple[Value, int]:
    """What a value is a multiple of by a constant, and the sign of that."""
    sign = 1
    while made_by := known.makers.get(value.name):
        if made_by.name == "negate":
            value, sign = made_by.operands[0], -sign
        elif made_by.name in ("multiply", "divide"):
            fixed = [one for one in made_by.operands if _sign(known.ranges.get(one.name))]
            if len(fixed) != 1 or (made_by.name == "divide" and fixed[0] is made_by.operands[0]):
                break
            sign *= _sign(known.ranges.get(fixed[0].name))
            value = next(one for one in made_by.operands if one is not fixed[0])
        else:
            break
    return value, sign


def _sign(of: Range | None) -> int:
    """The sign of a constant that is not zero, 0 of anything else."""
    if of is None or of.low != of.high:
        return 0
    return (of.low > 0) - (of.low < 0)


def _dot(operation: Operation, given: list[Range], known: Known) -> Range:
    of = operation.operands[0].type
    squares = is_square(operation, known) > 0 and isinstance(of, TensorType) and of.rank == 1
    return Range(0.0, inf) if squares or min(given)[0] >= 0 else EVERYTHING


def _divide(_: Operation, given: list[Range], __: Known) -> Range:
    one, other = given
    if other.low <= 0 <= other.high:
        return EVERYTHING
    ends = [x / y for x in one for y in other]
    return EVERYTHING if any(map(isnan, ends)) else Range(min(ends), max(ends))


def _abs(_: Operation, given: list[Range], __: Known) -> Range:
    (one,) = given
    low = 0.0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
    return Range(low, max(abs(one.low), abs(one.high)))


def _sqrt(_: Operation, given: list[Range], __: Known) -> Range:
    low, high = (math.sqrt(max(x, 0.0)) for x in given[0])
    return Range(low, high)


def _exponential(_: Operation, given: list[Range], __: Known) -> Range:
    low, high = (math.exp(x) if x < 700 else inf for x in given[0])
    return Range(max(low, _LEAST), high)


def _clamp(_: Operation, given: list[Range], __: Known) -> Range:
    least, one, most = given
    low = min(max(one.low, least.low), most.high)
    return Range(low, max(min(one.high, most.high), least.low))


def _reduce(operation: Operation, given: list[Range], _: Known) -> Range:
    """A single body of one op: what all elements and the init value share, a sum may keep."""
    body = operation.regions[0].operations
    if len(given) != 2 or len(body) != 2:
        return EVERYTHING
    whole = _union(given)
    if body[0].name in ("maximum", "minimum"):
        return whole
    if body[0].name == "add" and whole.low >= 0:
        return Range(max(given[0].low, given[1].low), inf)
    return EVERYTHING


def _power(_: Operation, given: list[Range], __: Known) -> Range:
    base, exponent = given
    if base.low >= 0 and exponent.low >= 0 and base.high <= 1:
        return Range(0.0, 1.0)
    return Range(0.0, inf) if base.low >= 0 else EVERYTHING


def _between(low: float, high: float) -> _Rule:
    return lambda _, __, ___: Range(low, high)


_RANGES: dict[str, _Rule] = {
    "abs": _abs,
    "add": _add,
    "clamp": _clamp,
    "compare": _between(0, 1),
    "cosine": _between(-1, 1),
    "count_leading_zeros": _between(0, 64),
    "divide": _divide,
    "dot_general": _dot,
    "exponential": _exponential,
    "exponential_minus_one": _between(-1, inf),
    "is_finite": _between(0, 1),
    "logistic": _between(_LEAST, 1),
    "maximum": lambda _, g, __: Range(max(g[0].low, g[1].low), max(g[0].high, g[1].high)),
    "minimum": lambda _, g, __: Range(min(g[0].low, g[1].low), min(g[0].high, g[1].high)),
    "multiply": _multiply,
    "negate": lambda _, g, __: Range(-g[0].high, -g[0].low),
    "popcnt": _between(0, 64),
    "power": _power,
    "reduce": _reduce,
    "reduce_window": _reduce,
    "rsqrt": _between(_LEAST, inf),
    "sign": _between(-1, 1),
    "sine": _between(-1, 1),
    "sqrt": _sqrt,
    "subtract": _subtract,
    "tanh": _between(-1, 1),
}
