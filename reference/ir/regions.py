"""Regions as functions, for the ops that have bodies (reduce, sort, while, ...)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from reference.ir.monoid import ADD, MONOIDS, Monoid
from reference.ir.notation import is_quantized
from reference.ir.program import Operation, Region, TensorType, Value, ValueType
from reference.ir.types import Array, ElementType


@dataclass(frozen=True, slots=True)
class Body:
    """A region that is ready for evaluation and sees the values of the enclosing regions.

    `call` evaluates the region once, on values of its argument types. `lift` evaluates a region of
    scalars for many lanes at once: arguments and results are arrays of one common shape, with an
    element for each lane. `make_sibling` makes a body of another region that sees the
    same values, for example of a part of this region.
    """

    region: Region
    call: Callable[..., tuple[Array, ...]]
    lift: Callable[..., tuple[Array, ...]]
    make_sibling: Callable[[Region], Body]

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        """Return the results on these arguments."""
        return self.call(*arguments)

    def lanes(self, *arguments: Array) -> tuple[Array, ...]:
        """Return the results in every lane: element i depends on element i of the arguments."""
        return self.lift(*arguments)

    @property
    def monoid(self) -> Monoid | None:
        """The monoid if the region applies one op to its two arguments, else None."""
        return monoid_of(self.region)


def argument_types(region: Region) -> tuple[ValueType, ...]:
    """Return the specification's `input_types`: the argument types of a function."""
    return tuple(argument.type for argument in region.arguments)


def output_types(region: Region) -> tuple[ValueType, ...]:
    """Return the specification's `output_types`: the result types of a function."""
    if not region.operations or region.operations[-1].name != "return":
        return ()
    return tuple(operand.type for operand in region.operations[-1].operands)


def monoid_of(region: Region) -> Monoid | None:
    """Return the monoid of a region that only applies it to its two arguments, else None."""
    found = components(region)
    return found[0] if len(found) == 1 else None


@lru_cache(maxsize=1024)
def components(region: Region) -> tuple[Monoid | None, ...]:
    """Return for each result the only op that computes it from its two arguments, else None.

    A body of N results takes 2 N arguments; result i depends on arguments i and N + i. Conversions
    to a wider type and back do not count where the op's result is the same without them.
    """
    if not region.operations:
        return ()
    count = len(region.operations[-1].operands)
    if len(region.arguments) != 2 * count:
        return (None,) * count
    made = {value.name: o for o in region.operations for value in o.results}
    return tuple(
        _component(made, result, region.arguments[index], region.arguments[count + index])
        for index, result in enumerate(region.operations[-1].operands)
    )


def _component(
    made: Mapping[str, Operation], result: Value, left: Value, right: Value
) -> Monoid | None:
    if is_quantized(result.type):  # each application rounds to a code
        return None
    applied = _without_identities(made, result)
    operation = made.get(applied.name)
    if operation is not None and operation.name == "convert":
        applied = _without_identities(made, operation.operands[0])
        operation = made.get(applied.name)
    monoid = MONOIDS.get(operation.name) if operation is not None else None
    if operation is None or monoid is None:
        return None
    taken = set[str]()
    for operand in operation.operands:
        value = _without_identities(made, operand)
        maker = made.get(value.name)
        if maker is not None and maker.name == "convert" and applied.type != result.type:
            value = _without_identities(made, maker.operands[0])
        taken.add(value.name)
    alone = taken == {left.name, right.name}
    of, wide = (
        one.type.element_type if isinstance(one.type, TensorType) else None
        for one in (result, applied)
    )
    if not alone or not isinstance(of, ElementType) or not isinstance(wide, ElementType):
        return None
    same = result.type == applied.type or (
        left.type == result.type and _rounds_once(monoid, of, wide)
    )
    return monoid if same else None


def _without_identities(made: Mapping[str, Operation], value: Value) -> Value:
    """Return the value that a value is, before reshapes and conversions to its own type."""
    while (operation := made.get(value.name)) is not None and (
        operation.name == "reshape"
        or (operation.name == "convert" and operation.operands[0].type == value.type)
    ):
        (value,) = operation.operands
    return value


def _rounds_once(monoid: Monoid, element_type: ElementType, wide: ElementType) -> bool:
    """Return whether results of a wider type, rounded to `element_type`, are those computed in it.

    Source: Figueroa, When is double rounding innocuous? (SIGNUM Newsletter 30, 1995): sums need
    2 p + 2 digits.
    """
    if not (element_type.is_float and wide.is_float and element_type.float_format.has_zero):
        return False
    narrow, format_ = element_type.float_format, wide.float_format
    holds = narrow.precision <= format_.precision and narrow.exponent_bits <= format_.exponent_bits
    exact = monoid is ADD or narrow.exponent_bits < format_.exponent_bits
    return holds and (
        not monoid.rounds or (exact and 2 * narrow.precision + 2 <= format_.precision)
    )
