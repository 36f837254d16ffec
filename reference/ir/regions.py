"""Regions as functions, for the ops that have bodies (reduce, sort, while, ...)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference.ir.monoid import MONOIDS, Monoid
from reference.ir.notation import is_quantized
from reference.ir.program import Region, ValueType
from reference.ir.types import Array


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
    if len(region.operations) != 2 or len(region.arguments) != 2:
        return None
    operation, end = region.operations
    if any(is_quantized(value.type) for value in (*operation.operands, *operation.results)):
        return None  # each step rounds to a code
    names = {value.name for value in region.arguments}
    applied = {value.name for value in operation.operands}
    alone = end.operands == operation.results and len(operation.operands) == 2
    return MONOIDS.get(operation.name) if alone and applied == names else None
