"""Comparators as small programs, with suitable data, and their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from generators.case.choices import Pick, choose, name_of, seldom
from generators.regions import forms
from generators.regions.bodies import BodyBuilder, literal
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.program import Attribute, Function, Region, Value
from reference.ir.types import ELEMENT_TYPES, ElementType, Kind, NonFinite

_SI32 = ELEMENT_TYPES["si32"]
_OPPOSITE = {"LT": "GE", "GT": "LE"}
_WITH_NAN = ("special", "mixed", "bits")
"""Profiles that contain NaN; they are drawn rarely for comparators that are no order with NaN."""


@dataclass(frozen=True, slots=True)
class Comparator:
    """A comparator: region, element types, data profiles, and limits of its use.

    `longest` limits the size of slices; `functions` are its callees; `few` says that the reference
    compares pairs sequentially; the first `alike` operands are the same.
    """

    region: Region
    inputs: tuple[ElementType, ...]
    rows: tuple[ProfileRow, ...]
    longest: int | None = None
    functions: tuple[Function, ...] = ()
    few: bool = False
    alike: int = 1


def _profiles(element_type: ElementType, *, total: bool) -> tuple[str, ...]:
    """Return profiles to sort: many equal elements, all sizes; rarely NaN unless `total`."""
    names = profiles_of(element_type)
    if element_type.is_boolean:
        return names
    few = ("small_integers", "within:0:2", "small_integers", "within:0:9")
    if total or element_type.is_integer:
        return (*few, *names)
    return (*few, *[name for name in names if name not in _WITH_NAN] * 3, *names)


def _compare_types(element_type: ElementType) -> tuple[str | None, ...]:
    """Return compare types of a type; None omits the attribute."""
    if element_type.is_float:
        return ("FLOAT", "TOTALORDER", "TOTALORDER", None)
    if element_type.is_complex:
        return ("FLOAT", None)
    return ("SIGNED" if element_type.kind is Kind.SIGNED else "UNSIGNED", None)


def _add_compare(
    block: BodyBuilder, lhs: Value, rhs: Value, direction: str, kind: str | None
) -> Value:
    given: dict[str, Attribute] = {"comparison_direction": direction}
    if kind is not None:
        given["compare_type"] = kind
    return block.op("compare", lhs, rhs, to=ELEMENT_TYPES["i1"], **given)


def _payload(
    pick: Pick, element_type: ElementType
) -> tuple[tuple[ElementType, ...], tuple[str, ...]]:
    """Return the types and profiles of further operands: none, positions, or the same type."""
    none: tuple[tuple[ElementType, ...], tuple[str, ...]] = ((), ())
    more = (((_SI32,), ("permutation",)), ((element_type,), (profiles_of(element_type)[0],)))
    both = ((element_type, _SI32), (profiles_of(element_type)[0], "permutation"))
    kind = choose(pick, ("none", "none", "one", "one", "one", "two"), "sorted along")
    return none if kind == "none" else both if kind == "two" else choose(pick, (*more, more[0]))


def _finish_comparator(
    block: BodyBuilder, before: Value, inputs: tuple[ElementType, ...], rows: tuple[ProfileRow, ...]
) -> Comparator:
    return Comparator(block.finish_region(before), inputs, rows)


def _begin_comparator(inputs: tuple[ElementType, ...]) -> BodyBuilder:
    return BodyBuilder.of(*(of for of in inputs for _ in range(2)))


def _one_key(element_type: ElementType, pick: Pick) -> Comparator:
    """Order by one operand, ascending or descending, in direct or mirrored form."""
    direction = choose(pick, ("LT", "GT"), "direction")
    kind = choose(pick, _compare_types(element_type), "compare_type")
    more, profiles = _payload(pick, element_type)
    # the key may be any of the operands
    at = 1 + pick(len(more)) if more and seldom(pick, 3, "key not first") else 0
    inputs = (*more[:at], element_type, *more[at:])
    block = _begin_comparator(inputs)
    lhs, rhs = block.arguments[2 * at : 2 * at + 2]
    total = kind == "TOTALORDER"
    integral = not (element_type.is_float or element_type.is_complex)
    forms = ("straight", "straight", "swapped", *(("negated",) if total or integral else ()))
    form = choose(pick, (*forms, "is true", "is not false"), "form")
    if form == "swapped":
        swapped = {"LT": "GT", "GT": "LT"}[direction]
        before = _add_compare(block, rhs, lhs, swapped, kind)
    elif form == "negated":
        before = block.op("not", _add_compare(block, lhs, rhs, _OPPOSITE[direction], kind))
    else:
        before = _add_compare(block, lhs, rhs, direction, kind)
        if form != "straight":
            truth = block.constant(form == "is true", ELEMENT_TYPES["i1"])
            equality = "EQ" if form == "is true" else "NE"
            before = _add_compare(block, before, truth, equality, None)
    rows = tuple(
        (*profiles[:at], name, *profiles[at:]) for name in _profiles(element_type, total=total)
    )
    return _finish_comparator(block, before, inputs, rows)


def _two_keys(element_type: ElementType, pick: Pick) -> Comparator:
    """Order by one operand, then by another, each ascending or descending."""
    second = _SI32
    if seldom(pick, 2, "keys of other types"):
        second = choose(pick, (element_type, ELEMENT_TYPES["ui8"], ELEMENT_TYPES["f32"]))
    kind = choose(pick, _compare_types(element_type), "compare_type")
    other_kind = _compare_types(second)[-2]
    directions = tuple(choose(pick, ("LT", "GT"), f"direction of key {key}") for key in (1, 2))
    more = choose(pick, ((), (_SI32,)))
    turned = seldom(pick, 3, "second operand decides first")
    keys = (second, element_type) if turned else (element_type, second)
    inputs = (*keys, *more)
    block = _begin_comparator(inputs)
    pairs = block.arguments[:2], block.arguments[2:4]
    (one, one_right), (two, two_right) = pairs[::-1] if turned else pairs
    first = _add_compare(block, one, one_right, directions[0], kind)
    form = choose(pick, ("or", "select if equal", "select if not"), "form of two keys")
    if form == "or":
        equal = _add_compare(block, one, one_right, "EQ", kind)
        last = _add_compare(block, two, two_right, directions[1], other_kind)
        before = block.op("or", first, block.op("and", equal, last))
    elif form == "select if equal":
        equal = _add_compare(block, one, one_right, "EQ", kind)
        last = _add_compare(block, two, two_right, directions[1], other_kind)
        before = block.op("select", equal, last, first)
    else:
        last = _add_compare(block, two, two_right, directions[1], other_kind)
        differ = _add_compare(block, one, one_right, "NE", kind)
        before = block.op("select", differ, first, last)
    seconds = (profiles_of(second)[0], "within:0:3")
    named = [
        (name, seconds[n % 2])
        for n, name in enumerate(_profiles(element_type, total=kind == "TOTALORDER"))
    ]
    rows = tuple((*(row[::-1] if turned else row), *("permutation" for _ in more)) for row in named)
    return _finish_comparator(block, before, inputs, rows)


def _key_across_operands(element_type: ElementType, pick: Pick) -> Comparator:
    """Compare elements of an operand with elements of another operand that equals it."""
    inputs = (element_type, element_type, _SI32)
    block = _begin_comparator(inputs)
    first, _, _, second = block.arguments[:4]
    direction = choose(pick, ("LT", "GT"), "direction")
    before = _add_compare(block, first, second, direction, _compare_types(element_type)[0])
    if element_type.is_complex or element_type.is_float:
        names = ("small_integers", "within:0:1", "moderate")
    else:
        names = profiles_of(element_type)
    rows = tuple((name, name, "permutation") for name in names)
    return Comparator(block.finish_region(before), inputs, rows, alike=2)


def _jax_order(element_type: ElementType, pick: Pick) -> Comparator:
    """Order as JAX sorts: equal NaNs last, -0 equal to 0, in total order.

    Complex numbers are ordered by real parts, then by imaginary parts.
    """
    more, profiles = _payload(pick, element_type)
    inputs = (element_type, *more)
    block = _begin_comparator(inputs)
    pair = block.arguments[:2]
    part = element_type.part
    sides = [
        [block.op(name, value, to=part) for value in pair] for name in ("real", "imag")
    ] if element_type.is_complex else [list(pair)]  # fmt: skip
    keys = [[_canonicalise_nan(block, value, part) for value in values] for values in sides]
    last_lhs, last_rhs = keys[-1]
    before = _add_compare(block, last_lhs, last_rhs, "LT", "TOTALORDER")
    for lhs, rhs in keys[-2::-1]:
        less = _add_compare(block, lhs, rhs, "LT", "TOTALORDER")
        equal = _add_compare(block, lhs, rhs, "EQ", "TOTALORDER")
        before = block.op("or", less, block.op("and", equal, before))
    rows = tuple((name, *profiles) for name in _profiles(element_type, total=True))
    return _finish_comparator(block, before, inputs, rows)


def _canonicalise_nan(block: BodyBuilder, value: Value, element_type: ElementType) -> Value:
    zero = block.op("constant", to=element_type, value=literal(0.0, element_type))
    is_zero = _add_compare(block, value, zero, "EQ", "FLOAT")
    changed = block.op("select", is_zero, zero, value)
    if not element_type.float_format.has_nan:
        return changed
    nan = block.op("constant", to=element_type, value=literal(float("nan"), element_type))
    is_nan = _add_compare(block, value, value, "NE", "FLOAT")
    return block.op("select", is_nan, nan, changed)


def _computed_key(element_type: ElementType, pick: Pick) -> Comparator:
    """Order by a computed key: the negative, the modulus, masked bits, a sum of operands."""
    name = choose(pick, ("negate", "abs", "mask", "sum"), "function of the key", paired=False)
    inputs = (element_type, element_type) if name == "sum" else (element_type,)
    block = _begin_comparator(inputs)
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
    before = _add_compare(block, lhs, rhs, choose(pick, ("LT", "GT"), "direction"), None)
    names = ("small_integers", "within:0:1", "within:-2:2")
    return _finish_comparator(block, before, inputs, tuple((name,) * len(inputs) for name in names))


def _sign_of_difference(element_type: ElementType, _: Pick) -> Comparator:
    """Order by lhs - rhs < 0, which orders small integers without comparing keys."""
    block = _begin_comparator((element_type,))
    difference = block.op("subtract", *block.arguments)
    zero = block.op("constant", to=element_type, value=literal(0, element_type))
    before = _add_compare(block, difference, zero, "LT", None)
    return _finish_comparator(block, before, (element_type,), (("within:0:1",), ("within:-2:2",)))


def _non_strict_order(element_type: ElementType, pick: Pick) -> Comparator:
    """Compare by less or equal, which is no strict ordering of equal elements.

    Slices are short: sorting algorithms may read out of the bounds of longer slices (and crash),
    and the result is unspecified anyway.
    """
    block = _begin_comparator((element_type,))
    lhs, rhs = block.arguments
    before = _add_compare(block, lhs, rhs, choose(pick, ("LE", "GE"), "direction"), None)
    rows: tuple[ProfileRow, ...] = (("permutation",), (profiles_of(element_type)[0],))
    return Comparator(block.finish_region(before), (element_type,), rows, longest=16)


def _constant_false(element_type: ElementType, _: Pick) -> Comparator:
    """Compare by a constant false: all elements are equal, so a stable sort moves none."""
    block = _begin_comparator((element_type,))
    before = block.constant(0, ELEMENT_TYPES["i1"])
    return _finish_comparator(
        block,
        before,
        (element_type,),
        (("small_integers",),) if not element_type.is_boolean else (("bits",),),
    )


def _key_in_functions(element_type: ElementType, pick: Pick) -> Comparator:
    """Order by one operand that functions compute."""
    plain = _one_key(element_type, pick)
    region, functions = forms.outline_to_functions(plain.region, "comparator")
    return replace(plain, region=region, functions=functions)


def _non_elementwise_key(element_type: ElementType, pick: Pick) -> Comparator:
    """Order by one operand, on tensors or in a branch or a loop."""
    plain = _one_key(element_type, pick)
    region = forms.region_of_form(plain.region, pick, "form of the comparator")
    return replace(plain, region=region, longest=7, few=True)


def comparators(element_type: ElementType, pick: Pick) -> Comparator:
    """Return a comparator whose first key is of an element type."""
    makers: list[Callable[[ElementType, Pick], Comparator]] = [_one_key] * 6 + [_two_keys] * 4
    part = element_type.part
    if part.is_float and part.float_format.has_zero:
        makers += [_jax_order] * 5 if _has_signed_nan(part) else [_jax_order]
    if element_type.is_signed and element_type.bits > 2:
        makers += [_computed_key, _computed_key, _sign_of_difference]
    makers += [
        _non_strict_order,
        _constant_false,
        _key_across_operands,
        _key_in_functions,
        _non_elementwise_key,
    ]
    return choose(pick, makers, "comparator", name_of)(element_type, pick)


def _has_signed_nan(element_type: ElementType) -> bool:
    return element_type.float_format.non_finite is not NonFinite.NAN_NEGATIVE_ZERO
