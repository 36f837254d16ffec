"""Comparators as small programs, with data that suit them, and what they order by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from generators.case.shapes import Pick, choose
from generators.regions.bodies import BodyBuilder, literal
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, Region, Value
from reference.ir.types import ELEMENT_TYPES, ElementType, Kind, NonFinite

_SI32 = ELEMENT_TYPES["si32"]
_OPPOSITE = {"LT": "GE", "GT": "LE"}
_NAN_FREE = ("special", "mixed", "bits")
"""Profiles with NaN: of an order that is none with them, one case in many."""


@dataclass(frozen=True, slots=True)
class Comparator:
    """A comparator: its region, the element types that it compares, profiles of the data; and the
    longest slices that it may be used on."""

    region: Region
    inputs: tuple[ElementType, ...]
    rows: tuple[ProfileRow, ...]
    longest: int | None = None


@cache
def _profiles(element_type: ElementType, *, total: bool) -> tuple[str, ...]:
    """Contents to sort: with many equal elements, of every size; NaN seldom without total order."""
    names = profiles_of(element_type)
    if element_type.is_boolean:
        return names
    few = ("small_integers", "within:0:2", "small_integers", "within:0:9")
    if total or element_type.is_integer:
        return (*few, *names)
    return (*few, *[name for name in names if name not in _NAN_FREE] * 3, *names)


def _kinds(element_type: ElementType) -> tuple[str | None, ...]:
    """Compare types of a type; None leaves it out."""
    if element_type.is_float:
        return ("FLOAT", "TOTALORDER", "TOTALORDER", None)
    if element_type.is_complex:
        return ("FLOAT", None)
    return ("SIGNED" if element_type.kind is Kind.SIGNED else "UNSIGNED", None)


def _compared(
    block: BodyBuilder, lhs: Value, rhs: Value, direction: str, kind: str | None
) -> Value:
    given: dict[str, Attribute] = {"comparison_direction": direction}
    if kind is not None:
        given["compare_type"] = kind
    return block.op("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], **given)


def _payload(
    pick: Pick, element_type: ElementType
) -> tuple[tuple[ElementType, ...], tuple[str, ...]]:
    """Operands that are sorted along, and their profiles: none, positions, more of the same."""
    none: tuple[tuple[ElementType, ...], tuple[str, ...]] = ((), ())
    more = (((_SI32,), ("permutation",)), ((element_type,), (profiles_of(element_type)[0],)))
    both = ((element_type, _SI32), (profiles_of(element_type)[0], "permutation"))
    return choose(pick, (none, none, *more, more[0], both))


def _finished(
    block: BodyBuilder, before: Value, inputs: tuple[ElementType, ...], rows: tuple[ProfileRow, ...]
) -> Comparator:
    return Comparator(block.returns(before), inputs, rows)


def _paired(inputs: tuple[ElementType, ...]) -> BodyBuilder:
    return BodyBuilder.of(*(of for of in inputs for _ in range(2)))


def _one_key(element_type: ElementType, pick: Pick) -> Comparator:
    """By one operand, ascending or descending, written straight or the other way round."""
    direction, kind = choose(pick, ("LT", "GT")), choose(pick, _kinds(element_type))
    more, profiles = _payload(pick, element_type)
    at = pick(len(more) + 1) if pick(3) == 2 else 0  # the key may stand among what comes along
    inputs = (*more[:at], element_type, *more[at:])
    block = _paired(inputs)
    lhs, rhs = block.arguments[2 * at : 2 * at + 2]
    total = kind == "TOTALORDER"
    form = pick(4)
    if form == 2:
        swapped = {"LT": "GT", "GT": "LT"}[direction]
        before = _compared(block, rhs, lhs, swapped, kind)
    elif form == 3 and (total or not (element_type.is_float or element_type.is_complex)):
        before = block.op("not", _compared(block, lhs, rhs, _OPPOSITE[direction], kind))
    else:
        before = _compared(block, lhs, rhs, direction, kind)
    rows = tuple(
        (*profiles[:at], name, *profiles[at:]) for name in _profiles(element_type, total=total)
    )
    return _finished(block, before, inputs, rows)


def _two_keys(element_type: ElementType, pick: Pick) -> Comparator:
    """By one operand, then by another, each ascending or descending."""
    second = choose(pick, (_SI32, element_type, ELEMENT_TYPES["ui8"], ELEMENT_TYPES["f32"]))
    kind, other_kind = choose(pick, _kinds(element_type)), _kinds(second)[-2]
    ways = (choose(pick, ("LT", "GT")), choose(pick, ("LT", "GT")))
    more = choose(pick, ((), (_SI32,)))
    inputs = (element_type, second, *more)
    block = _paired(inputs)
    one, one_right, two, two_right = block.arguments[:4]
    first = _compared(block, one, one_right, ways[0], kind)
    form = pick(3)
    if form == 0:
        equal = _compared(block, one, one_right, "EQ", kind)
        last = _compared(block, two, two_right, ways[1], other_kind)
        before = block.op("or", first, block.op("and", equal, last))
    elif form == 1:
        equal = _compared(block, one, one_right, "EQ", kind)
        last = _compared(block, two, two_right, ways[1], other_kind)
        before = block.op("select", equal, last, first)
    else:
        last = _compared(block, two, two_right, ways[1], other_kind)
        differ = _compared(block, one, one_right, "NE", kind)
        before = block.op("select", differ, first, last)
    seconds = (profiles_of(second)[0], "within:0:3")
    rows = tuple(
        (name, seconds[n % 2], *("permutation" for _ in more))
        for n, name in enumerate(_profiles(element_type, total=kind == "TOTALORDER"))
    )
    return _finished(block, before, inputs, rows)


def _canonical(element_type: ElementType, pick: Pick) -> Comparator:
    """As JAX sorts: NaNs all alike and last, -0 like 0, in total order; of complex numbers the real
    parts, then the imaginary ones."""
    more, profiles = _payload(pick, element_type)
    inputs = (element_type, *more)
    block = _paired(inputs)
    pair = block.arguments[:2]
    part = element_type.part
    sides = [
        [block.op(name, value, to=part) for value in pair] for name in ("real", "imag")
    ] if element_type.is_complex else [list(pair)]  # fmt: skip
    keys = [[_canonicalised(block, value, part) for value in values] for values in sides]
    last_lhs, last_rhs = keys[-1]
    before = _compared(block, last_lhs, last_rhs, "LT", "TOTALORDER")
    for lhs, rhs in keys[-2::-1]:
        less = _compared(block, lhs, rhs, "LT", "TOTALORDER")
        equal = _compared(block, lhs, rhs, "EQ", "TOTALORDER")
        before = block.op("or", less, block.op("and", equal, before))
    rows = tuple((name, *profiles) for name in _profiles(element_type, total=True))
    return _finished(block, before, inputs, rows)


def _canonicalised(block: BodyBuilder, value: Value, element_type: ElementType) -> Value:
    zero = block.op("constant", to=element_type, value=literal(0.0, element_type))
    is_zero = _compared(block, value, zero, "EQ", "FLOAT")
    changed = block.op("select", is_zero, zero, value)
    if not element_type.float_format.has_nan:
        return changed
    nan = block.op("constant", to=element_type, value=literal(float("nan"), element_type))
    is_nan = _compared(block, value, value, "NE", "FLOAT")
    return block.op("select", is_nan, nan, changed)


def _by_function(element_type: ElementType, pick: Pick) -> Comparator:
    """By something computed: the negative, the modulus, bits under a mask, a sum of operands."""
    name = choose(pick, ("negate", "abs", "mask", "sum"))
    inputs = (element_type, element_type) if name == "sum" else (element_type,)
    block = _paired(inputs)
    if name == "sum":
        keys = [block.op("add", *block.arguments[side::2]) for side in range(2)]
    elif name == "mask":
        mask = block.op(
            "constant",
            to=element_type,
            value=literal(1 if element_type.bits < 8 else 6, element_type),
        )
        keys = [block.op("and", value, mask) for value in block.arguments]
    else:
        keys = [block.op(name, value) for value in block.arguments]
    lhs, rhs = keys
    before = _compared(block, lhs, rhs, choose(pick, ("LT", "GT")), None)
    names = ("small_integers", "within:0:1", "within:-2:2")
    return _finished(block, before, inputs, tuple((name,) * len(inputs) for name in names))


def _by_difference(element_type: ElementType, _: Pick) -> Comparator:
    """lhs - rhs < 0: an order like any other, on small integers, but not one of keys."""
    block = _paired((element_type,))
    difference = block.op("subtract", *block.arguments)
    zero = block.op("constant", to=element_type, value=literal(0, element_type))
    before = _compared(block, difference, zero, "LT", None)
    return _finished(block, before, (element_type,), (("within:0:1",), ("within:-2:2",)))


def _not_strict(element_type: ElementType, pick: Pick) -> Comparator:
    """Less or equal: no strict ordering as soon as two elements are equal. What that does to longer
    slices is known: sorting algorithms leave them (and end the process), open as the result is."""
    block = _paired((element_type,))
    lhs, rhs = block.arguments
    before = _compared(block, lhs, rhs, choose(pick, ("LE", "GE")), None)
    rows: tuple[ProfileRow, ...] = (("permutation",), (profiles_of(element_type)[0],))
    return Comparator(block.returns(before), (element_type,), rows, longest=16)


def comparators(element_type: ElementType, pick: Pick) -> Comparator:
    """A comparator whose first key is of an element type."""
    makers: list[Callable[[ElementType, Pick], Comparator]] = [_one_key] * 6 + [_two_keys] * 4
    part = element_type.part
    if part.is_float and part.float_format.has_zero:
        makers += [_canonical] * 5 if _has_signed_nan(part) else [_canonical]
    if element_type.is_signed and element_type.bits > 2:
        makers += [_by_function, _by_function, _by_difference]
    makers.append(_not_strict)
    return choose(pick, tuple(makers))(element_type, pick)


def _has_signed_nan(element_type: ElementType) -> bool:
    return element_type.float_format.non_finite is not NonFinite.NAN_NEGATIVE_ZERO
