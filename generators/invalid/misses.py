"""Near misses: programs that violate exactly one constraint, and helpers to build them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import ElementType

Miss = tuple[str, Program]
"""The id of the constraint that is broken, and the program that breaks it."""

Misses = Callable[[str], Iterator[Miss]]
"""A function misses(op): the near misses of an op."""


def tensor(element_type: ElementType, *shape: int | None) -> TensorType:
    """Return a tensor type; without sizes the type of a scalar."""
    return TensorType(shape, element_type)


def program(
    op: str,
    operands: dict[str, TensorType],
    results: tuple[TensorType, ...],
    regions: tuple[Region, ...] = (),
    **given: Attribute,
) -> Program:
    """Return the program of one op whose operands are all parameters, with these names."""
    values = tuple(Value(name, of) for name, of in operands.items())
    return single_op(op, values, results, given, regions)
