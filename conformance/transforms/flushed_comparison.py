"""Operations whose comparisons treat subnormal numbers as zeros, and that flush nothing else.

A processor that treats denormals as zeros also compares them as zeros. The chosen operand is then
moved unchanged: the maximum of 9e-41 and -9e-41, which compare equal, is either. Regions are
rewritten so that all comparisons in them, nested regions included, are of this kind. Total order
distinguishes -0 from 0: there a subnormal number compares as the zero of its sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count, product

import numpy as np

from reference.ir.program import (
    Attribute,
    Dense,
    Operation,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
    tensor_of,
)
from reference.ir.types import BOOLEAN, ElementType
from reference.numerics.rounding import round_to

_FIRST = {"maximum": ("GT", "GE"), "minimum": ("LT", "LE")}
"""Comparisons that select lhs: one where equal operands give rhs, one where they give lhs."""

Ways = tuple[bool, bool]
"""Whether `maximum`, and whether `minimum`, of equal operands returns the first."""


@lru_cache(maxsize=1024)
def flush_comparisons(region: Region) -> tuple[Region, ...]:
    """Return the region with comparisons that treat subnormal numbers as zeros.

    There is one variant for each choice between equal operands of `maximum` and of `minimum`, and
    none if nothing changes.
    """
    both = product((False, True), (False, True))
    ways = (rewrite(region, way) for way in both)
    return tuple(one for one in dict.fromkeys(ways) if one != region)


def rewrite(region: Region, ways: Ways, numbers: Iterator[int] | None = None) -> Region:
    """Return the region with comparisons that treat subnormal numbers as zeros. `ways` decide
    between operands that then are equal.

    `numbers` yields the numbers of new values.
    """
    writer = _Writer(ways, numbers or count())
    for operation in region.operations:
        writer.take(operation)
    return replace(region, operations=tuple(writer.operations))


@dataclass(slots=True)
class _Writer:
    """Writer of a region whose comparisons treat subnormal numbers as zeros."""

    ways: Ways
    numbers: Iterator[int]
    operations: list[Operation] = field(default_factory=list[Operation])

    def take(self, operation: Operation) -> None:
        """Write an operation of the region unchanged, or its replacement."""
        name, given = operation.name, operation.operands
        if not all(_may_be_subnormal(value.type) for value in given):
            self._keep(operation)
        elif name == "compare":
            is_total = operation.attribute("compare_type") == "TOTALORDER"
            key = self._signed_key if is_total else self._key
            self._keep(replace(operation, operands=tuple(map(key, given))))
        elif name in _FIRST:
            self._extremum(name, given[0], given[1], operation.results[0])
        elif name == "clamp":
            low, operand, high = (self._broadcast_bound(value, given[1].type) for value in given)
            raised = Value(f"coarse {next(self.numbers)}", operand.type)
            self._extremum("maximum", operand, low, raised)
            self._extremum("minimum", raised, high, operation.results[0])
        else:
            self._keep(operation)

    def _keep(self, operation: Operation) -> None:
        inner = (rewrite(region, self.ways, self.numbers) for region in operation.regions)
        self.operations.append(replace(operation, regions=tuple(inner)))

    def _op(self, name: str, *operands: Value, to: ValueType, **given: Attribute) -> Value:
        value = Value(f"coarse {next(self.numbers)}", to)
        self.operations.append(Operation(name, operands, (value,), attributes(**given)))
        return value

    def _broadcast_bound(self, value: Value, value_type: ValueType) -> Value:
        """Broadcast a scalar bound of `clamp` to the shape of a value."""
        if value.type == value_type:
            return value
        return self._op("broadcast_in_dim", value, to=value_type, broadcast_dimensions=())

    def _number(self, number: float, like: Value) -> Value:
        of = tensor_of(like)
        array = np.broadcast_to(round_to(np.asarray(number), of.element), of.static_shape)
        return self._op("constant", to=of, value=Dense.of(array, of))

    def _compare(self, lhs: Value, rhs: Value, direction: str) -> Value:
        to = replace(tensor_of(lhs), element_type=BOOLEAN[0])
        return self._op("compare", lhs, rhs, to=to, comparison_direction=direction)

    def _key(self, value: Value) -> Value:
        """Return the key by which a value is compared: 0 where it is subnormal."""
        of = tensor_of(value)
        if of.element.is_complex:
            part = replace(of, element_type=of.element.part)
            parts = [self._key(self._op(name, value, to=part)) for name in ("real", "imag")]
            return self._op("complex", *parts, to=of)
        magnitude = self._op("abs", value, to=of)
        limit = self._number(of.element.float_format.smallest_normal, value)
        tiny = self._compare(magnitude, limit, "LT")
        return self._op("select", tiny, self._number(0.0, value), value, to=of)

    def _signed_key(self, value: Value) -> Value:
        """Return the key by which total order compares a value: -0 or 0 where it is subnormal."""
        of = tensor_of(value)
        zero = self._op("multiply", value, self._number(0.0, value), to=of)
        is_tiny = self._compare(self._key(value), self._number(0.0, value), "EQ")
        return self._op("select", is_tiny, zero, value, to=of)

    def _extremum(self, name: str, lhs: Value, rhs: Value, result: Value) -> None:
        """Choose by the keys where a key differs from its number; otherwise take the ordinary
        maximum or minimum.
        """
        of = result.type
        keys = (self._key(lhs), self._key(rhs))
        changed = [self._compare(*pair, "NE") for pair in zip((lhs, rhs), keys, strict=True)]
        either = self._op("or", *changed, to=changed[0].type)
        is_first = self.ways[list(_FIRST).index(name)]
        chosen = self._op("select", self._compare(*keys, _FIRST[name][is_first]), lhs, rhs, to=of)
        numbers = [self._compare(value, value, "EQ") for value in (lhs, rhs)]
        both = self._op("and", *numbers, to=either.type)
        coarse = self._op("and", either, both, to=either.type)
        right = self._op(name, lhs, rhs, to=of)
        self.operations.append(Operation("select", (coarse, chosen, right), (result,)))


def _may_be_subnormal(value_type: ValueType) -> bool:
    """Return whether values are tensors of static shape whose type has subnormal numbers."""
    if not isinstance(value_type, TensorType) or not value_type.is_static:
        return False
    element = value_type.element_type
    if not isinstance(element, ElementType) or not (element.is_float or element.is_complex):
        return False
    return element.part.float_format.has_zero
