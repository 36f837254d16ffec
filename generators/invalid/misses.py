"""Near misses: programs that break exactly one constraint, and helpers to make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import ElementType

Miss = tuple[str, Program]
"""The id of the constraint that is broken, and the program that breaks it."""

Misses = Callable[[str], Iterator[Miss]]
"""misses(op): the near misses of an op."""


def tensor(element_type: ElementType, *shape: int | None) -> TensorType:
    """A tensor type; without sizes a scalar's."""
    return TensorType(shape, element_type)


def program(
    op: str,
    operands: dict[str, TensorType],
    results: tuple[TensorType, ...],
    regions: tuple[Region, ...] = (),
    **given: Attribute,
) -> Program:
    """The program of one op whose operands are all parameters, under these names."""
    values = tuple(Value(name, of) for name, of in operands.items())
    return single_op(op, values, results, given, regions)
