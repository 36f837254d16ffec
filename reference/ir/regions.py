"""Regions as functions: what the ops with bodies (reduce, sort, while, ...) are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.ir.monoid import MONOIDS, Monoid
from reference.ir.notation import is_quantized
from reference.ir.program import Region, ValueType
from reference.ir.types import Array


@dataclass(frozen=True, slots=True)
class Body:
    """A region ready to be evaluated; it sees the values around it.

    `call` evaluates it once, on values of the types of its arguments. `lift` evaluates a region
    of scalars for many lanes at once: arguments are arrays of one common shape, an element for
    each lane, and so are the results. `another` makes a body of another region that sees the same
    values: of a part of this one, say.
    """

    region: Region
    call: Callable[..., tuple[Array, ...]]
    lift: Callable[..., tuple[Array, ...]]
    another: Callable[[Region], Body]

    def __call__(self, *arguments: Array) -> tuple[Array, ...]:
        """The results on these arguments."""
        return self.call(*arguments)

    def lanes(self, *arguments: Array) -> tuple[Array, ...]:
        """The results in every lane: element i of each depends on element i of the arguments."""
        return self.lift(*arguments)

    @property
    def monoid(self) -> Monoid | None:
        """What the region is where it applies one op to its two arguments; or None."""
        return monoid_of(self.region)


def argument_types(region: Region) -> tuple[ValueType, ...]:
    """`input_types` of the specification: what a function takes."""
    return tuple(argument.type for argument in region.arguments)


def output_types(region: Region) -> tuple[ValueType, ...]:
    """`output_types` of the specification: what a function returns."""
    if not region.operations or region.operations[-1].name != "return":
        return ()
    return tuple(operand.type for operand in region.operations[-1].operands)


def monoid_of(region: Region) -> Monoid | None:
    """The monoid of a region that applies it to its two arguments and nothing else; or None."""
    if len(region.operations) != 2 or len(region.arguments) != 2:
        return None
    operation, end = region.operations
    if any(is_quantized(value.type) for value in (*operation.operands, *operation.results)):
        return None  # rounds to a code at every step
    names = {value.name for value in region.arguments}
    applied = {value.name for value in operation.operands}
    alone = end.operands == operation.results and len(operation.operands) == 2
    return MONOIDS.get(operation.name) if alone and applied == names else None
