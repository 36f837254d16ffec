"""Keys by which a comparator orders lexicographically, derived from its region.

Most comparators compare a few keys in turn: an operand, or a function of an operand (for example,
to treat -0 as 0), ascending or descending. Such a comparator is a boolean formula over comparisons
of keys of one side with the same keys of the other side. Each key of lhs can be less than rhs's
key, greater or equal. The formula's values in all these cases show whether it is a lexicographic
order, and the priority of the keys. Sorting then needs no calls of the comparator, only integers in
the order of the keys (`codes`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.types import Array, element_type_of, to_bits
from reference.numerics.comparison import total_order_key
from reference.numerics.rounding import to_float64

MAX_KEYS = 7
"""Maximum number of keys, because cases grow exponentially; beyond it comparators are called."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: the value that the comparator computes for one side, and the comparison."""

    value: Value
    compare_type: str
    descending: bool


@dataclass(frozen=True, slots=True)
class Order:
    """A lexicographic order: its keys by priority, and the region that computes them.

    `region` takes one side's elements, an element of each operand, and returns the values of the
    keys.
    """

    keys: tuple[Key, ...]
    region: Region


_LESS, _EQUAL, _GREATER = range(3)
_DIRECTIONS = {
    "EQ": (_EQUAL,),
    "NE": (_LESS, _GREATER),
    "LT": (_LESS,),
    "LE": (_LESS, _EQUAL),
    "GT": (_GREATER,),
    "GE": (_GREATER, _EQUAL),
}
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "EQ": "EQ", "NE": "NE"}
_LOGIC: dict[str, Callable[..., Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "select": np.where,
    "multiply": np.logical_and,
    "add": np.logical_or,
    "maximum": np.logical_or,
    "minimum": np.logical_and,
}
"""Ops on i1 values that may occur in a formula."""


@dataclass(frozen=True, slots=True)
class _Node:
    """The source of a value: an expression that ignores the side, and the sides it depends on."""

    expression: Any
    sides: frozenset[str]
    value: Value


@dataclass(slots=True)
class _Formula:
    """The comparator as a formula: an i1 value for each boolean value of the region.

    An atom is (key, compare type, direction). An i1 value is a function of the atoms' cases, an
    array with an axis of size 3 for each key.
    """

    nodes: dict[str, _Node] = field(default_factory=dict[str, _Node])
    keys: dict[tuple[Any, str], tuple[int, Value]] = field(
        default_factory=dict[tuple[Any, str], tuple[int, Value]]
    )
    truths: dict[str, Callable[[Sequence[Array]], Array]] = field(
        default_factory=dict[str, "Callable[[Sequence[Array]], Array]"]
    )


@lru_cache(maxsize=1024)
def order_of(comparator: Region) -> Order | None:
    """Return the lexicographic order that a comparator defines, None if none is recognised."""
    formula = _Formula()
    for index, argument in enumerate(comparator.arguments):
        side = "rhs" if index % 2 else "lhs"
        formula.nodes[argument.name] = _Node(index // 2, frozenset((side,)), argument)
    for operation in comparator.operations[:-1]:
        if not _add_operation(formula, operation):
            return None
    result = comparator.operations[-1].operands[0].name
    if result not in formula.truths or len(formula.keys) > MAX_KEYS:
        return None
    count = len(formula.keys)
    cases = [np.array(case) for case in zip(*itertools.product(range(3), repeat=count))]  # noqa: B905 - one length
    table = np.broadcast_to(formula.truths[result](cases), (3**count,)).reshape((3,) * count)
    found = _lexicographic(table, list(range(count)))
    if found is None:
        return None
    known = {number: (value, kind) for (_, kind), (number, value) in formula.keys.items()}
    keys = tuple(Key(*known[number], descending) for number, descending in found)
    return Order(keys, _key_region(comparator, tuple(key.value for key in keys)))


def _add_operation(formula: _Formula, operation: Operation) -> bool:
    """Add one operation to the formula; return False if it cannot be part of a formula."""
    if operation.regions or len(operation.results) != 1:
        return False
    result = operation.results[0]
    given = [formula.nodes.get(v.name) or _outer_node(v) for v in operation.operands]
    sides = frozenset[str]().union(*(node.sides for node in given))
    if len(sides) <= 1:
        expression = (operation.name, operation.attributes, result.type)
        inner = tuple(node.expression for node in given)
        formula.nodes[result.name] = _Node((*expression, inner), sides, result)
        if not sides and operation.name == "constant":
            _add_constant(formula, operation)
        return True
    formula.nodes[result.name] = _Node(object(), sides, result)
    if operation.name == "compare" and all(len(node.sides) == 1 for node in given):
        return _add_atom(formula, operation, given[0], given[1])
    return _add_connective(formula, operation)


def _outer_node(value: Value) -> _Node:
    """Return the node of a value of the program around the comparator."""
    return _Node(("outside", value.name), frozenset(), value)


def _add_constant(formula: _Formula, operation: Operation) -> None:
    of = operation.results[0].type
    if isinstance(of, TensorType) and of.shape == () and of.storage == np.bool_:
        truth = bool(getattr(operation.attribute("value"), "array", np.zeros(()))[()])
        formula.truths[operation.results[0].name] = lambda _: np.asarray(truth)


def _add_atom(formula: _Formula, operation: Operation, left: _Node, right: _Node) -> bool:
    """Add a comparison of a key of one side with the same key of the other."""
    direction = str(operation.attribute("comparison_direction"))
    if left.expression != right.expression:
        return False
    if "rhs" in left.sides:
        left, direction = right, _MIRRORED[direction]
    kind = str(operation.attribute("compare_type") or "")
    number, _ = formula.keys.setdefault((left.expression, kind), (len(formula.keys), left.value))
    holds = _DIRECTIONS[direction]
    formula.truths[operation.results[0].name] = lambda cases: np.isin(cases[number], holds)
    return True


def _add_connective(formula: _Formula, operation: Operation) -> bool:
    """Add an i1 value computed from i1 values."""
    parts = [formula.truths.get(v.name) for v in operation.operands]
    logic = _LOGIC.get(operation.name)
    if operation.name == "compare":
        logic = {"EQ": np.equal, "NE": np.not_equal}.get(
            str(operation.attribute("comparison_direction"))
        )
    if logic is None or None in parts:
        return False
    known = [part for part in parts if part is not None]
    formula.truths[operation.results[0].name] = lambda cases: logic(*(p(cases) for p in known))
    return True


def _lexicographic(table: Array, keys: list[int]) -> list[tuple[int, bool]] | None:
    """Return the keys by priority, each with whether it is descending.

    `table` has an axis for each of `keys`: whether lhs comes first, in every case.
    """
    if not table.any():
        return []  # none of the remaining keys can decide
    for axis, key in enumerate(keys):
        less, greater = table.take(_LESS, axis), table.take(_GREATER, axis)
        ascending = bool(less.all() and not greater.any())
        descending = bool(greater.all() and not less.any())
        if ascending or descending:
            rest = _lexicographic(table.take(_EQUAL, axis), keys[:axis] + keys[axis + 1 :])
            return None if rest is None else [(key, descending), *rest]
    return None


def _key_region(comparator: Region, wanted: tuple[Value, ...]) -> Region:
    """Return the region that computes the `wanted` values from one side's elements.

    The values belong to lhs; arguments of the other side are not needed.
    """
    needed, kept = {value.name for value in wanted}, list[Operation]()
    for operation in reversed(comparator.operations[:-1]):
        if any(result.name in needed for result in operation.results):
            needed |= {operand.name for operand in operation.operands}
            kept.append(operation)
    end = Operation("return", wanted)
    return Region(comparator.arguments[::2], (*reversed(kept), end))


@dataclass(frozen=True, slots=True)
class Codes:
    """Unsigned integers (ui64, below 2^bits) in the order of a key, equal for equal keys."""

    codes: Array
    bits: int


def codes_of(values: Array, key: Key) -> list[Codes] | None:
    """Return a code for the values of a key, or two codes for complex numbers; None without an
    order.

    There is none if a value is NaN, except in total order.
    """
    element_type = element_type_of(values)
    if element_type.is_complex:
        found = [_float_codes(part(values).copy(), key) for part in (np.real, np.imag)]
    elif element_type.is_float:
        found = [_float_codes(values, key)]
    elif element_type.is_signed:
        offset = np.uint64(1 << (element_type.bits - 1))
        wide = values.astype(np.int64).view(np.uint64) + offset
        found = [Codes(wide & _mask(element_type.bits), element_type.bits)]
    else:
        found = [Codes(to_bits(values).astype(np.uint64), element_type.bits)]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    if key.descending:
        return [Codes(_mask(one.bits) - one.codes, one.bits) for one in known]
    return known


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)


def _float_codes(values: Array, key: Key) -> Codes | None:
    element_type = element_type_of(values)
    ordered = total_order_key(values)
    if key.compare_type != "TOTALORDER":
        if np.isnan(values if element_type.bits > 16 else to_float64(values)).any():
            return None
        ordered = np.where(ordered < 0, ordered + 1, ordered)  # -0 is 0
    offset = (
        np.uint64(1 << (element_type.bits - 1))
        if element_type.float_format.signed
        else np.uint64(0)
    )
    return Codes((ordered.view(np.uint64) + offset) & _mask(element_type.bits), element_type.bits)
