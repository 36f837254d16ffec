"""Rules for the needs of operands, and the kinds of needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.needs.need import BITS, DEFINITE, DOMINANT, Need
from conformance.needs.ranges import KnownValues
from reference.ir.program import Operation, TensorType, Value

Needed = Iterable[tuple[Value, Need]]


Rule = Callable[[Operation, Need, KnownValues], Needed]
"""A rule: rule(operation, need of its first result, known facts) returns operands with their needs.
"""


def is_integer(value: Value) -> bool:
    """Return whether a value's elements are integers, not booleans."""
    of = value.type
    return isinstance(of, TensorType) and of.stored.is_integer and not of.stored.is_boolean


def is_complex(value: Value) -> bool:
    """Return whether a value's elements are complex numbers."""
    return isinstance(value.type, TensorType) and value.type.stored.is_complex


def passes_arithmetic(need: Need) -> bool:
    """Return whether arithmetic usually preserves the form of a need."""
    return need.form in (BITS, DEFINITE, DOMINANT)
