"""Variations of a fragment: another size, type, op, attribute or operand, an added or removed op.

Each returns a fragment that may be invalid; another variation is then drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count as count_from

import numpy as np

from generators.case.choices import Pick, choose
from generators.chains.links import can_be_in_chain
from generators.chains.seeds.fragment import (
    MOST_ELEMENTS,
    Fragment,
    infer_types,
    is_usable,
    replace_body,
)
from reference.ir.op import Op
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Region,
    TensorType,
    Value,
    ValueType,
)
from reference.ir.resizing import Sizes, resize_dimensions, sizes_of
from reference.ir.substitution import replace_operands
from reference.ir.types import ALL, ElementType
from reference.numerics.conversion import convert_to
from reference.ops.structure import is_constant
from reference.ops.table import OPS

Variation = Callable[[Pick, Fragment], Fragment | None]
"""A function variation(pick, fragment): a changed, possibly invalid fragment, or None."""

_SIZES = (1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 128, 129, 256)
"""Sizes around the thresholds of compilers."""

_WORDS = {"comparison_direction": ("LT", "LE", "GT", "GE", "EQ", "NE")}
"""Attributes whose values are words of an enum, each with the words."""


def replace_size(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Replace a size, and sometimes a multiple of it, wherever they occur."""
    found = sorted(sizes_of(fragment))
    if not found:
        return None
    size = choose(pick, found)
    new = choose(pick, [one for one in _SIZES if one != size])
    multiples = [one for one in found if one > size and one % size == 0]
    if multiples and pick(2):
        other = choose(pick, multiples)
        sizes = {size: new, other: other // size * new}
    else:
        sizes = {size: new}
    return resize_dimensions(fragment, sizes) if _stays_small(fragment, sizes) else None


def _stays_small(fragment: Fragment, sizes: Sizes) -> bool:
    """Return whether no value has too many elements after a change of sizes."""
    values = [
        *fragment.main.arguments,
        *(v for operation in fragment.walk() for v in operation.results),
    ]
    types = [v.type for v in values if isinstance(v.type, TensorType)]
    shapes = [of.static_shape for of in types if of.is_static]
    return all(
        math.prod(sizes.get(size, size) for size in shape) <= MOST_ELEMENTS for shape in shapes
    )


def replace_element_type(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Replace an element type, wherever it occurs, by another type of the same kind."""
    values = [*fragment.main.arguments]
    values += [value for operation in fragment.main.body.operations for value in operation.results]
    found = list(dict.fromkeys(_element(value.type) for value in values))
    old = choose(pick, found)
    others = [one for one in ALL if one != old and _kind(one) == _kind(old)]
    if not others:
        return None
    new = choose(pick, others)

    def new_type(given: ValueType) -> ValueType:
        if isinstance(given, TensorType) and given.element_type == old:
            return replace(given, element_type=new)
        return given

    return _replace_types(fragment, new_type)


def _element(of: ValueType) -> ElementType:
    assert isinstance(of, TensorType)
    return of.element


def _kind(element_type: ElementType) -> tuple[bool, ...]:
    signed = element_type.is_integer and element_type.is_signed
    narrow = element_type.is_float and element_type.bits < 16
    return (
        element_type.is_float,
        element_type.is_complex,
        element_type.is_integer,
        element_type.is_boolean,
        signed,
        narrow,
    )


def _replace_types(fragment: Fragment, new_type: Callable[[ValueType], ValueType]) -> Fragment:
    def value(one: Value) -> Value:
        return Value(one.name, new_type(one.type))

    def attribute(given: Attribute) -> Attribute:
        if not isinstance(given, Dense):
            return given
        to = new_type(given.type)
        if to == given.type or not isinstance(to, TensorType):
            return given
        with np.errstate(all="ignore"):
            return Dense.of(convert_to(given.array, to.element), to)

    def region(one: Region) -> Region:
        return Region(tuple(map(value, one.arguments)), tuple(map(operation, one.operations)))

    def operation(one: Operation) -> Operation:
        given = one.attributes
        if is_constant(one):  # arrays of other types, such as padding, keep their types
            given = tuple((name, attribute(stated)) for name, stated in given)
        return Operation(
            one.name,
            tuple(map(value, one.operands)),
            tuple(map(value, one.results)),
            given,
            tuple(map(region, one.regions)),
        )

    main = fragment.main
    types = tuple(map(new_type, main.result_types))
    return replace(fragment, functions=(Function("main", region(main.body), types),))


def replace_op(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Replace an elementwise op by another op with as many operands."""
    operations = fragment.main.body.operations
    positions = [
        index for index, operation in enumerate(operations[:-1]) if operation.name in _plain_ops(0)
    ]
    if not positions:
        return None
    at = choose(pick, positions)
    name = choose(pick, _plain_ops(len(operations[at].operands)))
    return _replace_operation(fragment, at, replace(operations[at], name=name, attributes=()))


@cache
def _plain_ops(count: int) -> tuple[str, ...]:
    """Return the elementwise ops without attributes and with `count` operands, 0 for any."""
    found = [record for record in OPS.values() if _is_plain(record)]
    return tuple(one.name for one in found if not count or len(one.operands) == count)


def _is_plain(record: Op) -> bool:
    stated = [name for name in record.attributes if name not in record.optional]
    simple = record.lifts and not (record.needs_result or record.several or record.regions)
    return can_be_in_chain(record) and simple and not stated


def replace_attribute(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Change an attribute: a negated boolean, a number off by one, another enum value."""
    operations = fragment.main.body.operations
    positions = [
        (index, name)
        for index, operation in enumerate(operations[:-1])
        for name, value in operation.attributes
        if _can_vary(name, value)
    ]
    if not positions:
        return None
    at, name = choose(pick, positions)
    changed = tuple(
        (other, _vary_attribute(pick, other, value) if other == name else value)
        for other, value in operations[at].attributes
    )
    return _replace_operation(fragment, at, replace(operations[at], attributes=changed))


def _can_vary(name: str, value: Attribute) -> bool:
    several = isinstance(value, tuple) and bool(value) and all(type(v) is int for v in value)
    return name in _WORDS or isinstance(value, (bool, int)) or several


def _vary_attribute(pick: Pick, name: str, value: Attribute) -> Attribute:
    if name in _WORDS:
        return choose(pick, [word for word in _WORDS[name] if word != value])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + choose(pick, (1, -1))
    assert isinstance(value, tuple)
    at = pick(len(value))
    number = value[at]
    assert isinstance(number, int)
    return (*value[:at], choose(pick, (number + 1, number - 1, 0, 1)), *value[at + 1 :])


def replace_operand(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Replace an operand by another value of the same type that is defined before it."""
    operations = fragment.main.body.operations
    at = pick(len(operations) - 1)
    one = operations[at]
    before = [*fragment.main.arguments, *(v for o in operations[:at] for v in o.results)]
    positions = [
        (position, value)
        for position, operand in enumerate(one.operands)
        for value in before
        if value.type == operand.type and value != operand
    ]
    if not positions:
        return None
    position, value = choose(pick, positions)
    operands = (*one.operands[:position], value, *one.operands[position + 1 :])
    return _replace_operation(fragment, at, replace(one, operands=operands))


def remove_operation(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Remove an operation and replace its result by one of its operands."""
    operations = fragment.main.body.operations
    positions = [
        (index, operand)
        for index, operation in enumerate(operations[:-1])
        for operand in operation.operands
        if len(operation.results) == 1 and operand.type == operation.results[0].type
    ]
    if not positions or sum(not is_constant(operation) for operation in operations) <= 2:
        return None
    at, operand = choose(pick, positions)
    instead = {operations[at].results[0].name: operand}
    after = tuple(replace_operands(operation, instead) for operation in operations[at + 1 :])
    return replace_body(fragment, (*operations[:at], *after))


def add_operation(pick: Pick, fragment: Fragment) -> Fragment | None:
    """Add an operation on a value, with one operand or the same operand twice."""
    operations = fragment.main.body.operations
    at = pick(len(operations) - 1)
    results = operations[at].results
    if not results:
        return None
    value = choose(pick, results)
    count = 1 + (pick(3) == 2)
    name = choose(pick, _plain_ops(count))
    taken = {result.name for operation in fragment.walk() for result in operation.results}
    free = next(n for n in count_from(1) if f"{value.name}_{n}" not in taken)
    behind = Value(f"{value.name}_{free}", value.type)
    made = Operation(name, (value,) * count, (behind,))
    after = (replace_operands(one, {value.name: behind}) for one in operations[at + 1 :])
    return replace_body(fragment, (*operations[: at + 1], made, *after))


def _replace_operation(fragment: Fragment, at: int, operation: Operation) -> Fragment:
    operations = fragment.main.body.operations
    return replace_body(fragment, (*operations[:at], operation, *operations[at + 1 :]))


VARIATIONS: tuple[Variation, ...] = (
    replace_size, replace_element_type, replace_op, replace_attribute, replace_operand,
    remove_operation, add_operation,
)  # fmt: skip
"""All kinds of variations."""

_TRIES = 4
"""Upper bound of the variations that are drawn until one is valid."""


def vary(pick: Pick, fragment: Fragment, times: int) -> Fragment:
    """Return the fragment varied `times` times; fewer if drawn variations are invalid."""
    for _ in range(times):
        fragment = next(_valid_variations(pick, fragment), fragment)
    return fragment


def _valid_variations(pick: Pick, fragment: Fragment) -> Iterator[Fragment]:
    for _ in range(_TRIES):
        changed = choose(pick, VARIATIONS)(pick, fragment)
        whole = None if changed is None else infer_types(changed)
        if whole is not None and is_usable(whole):
            yield whole
