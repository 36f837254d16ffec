"""Patterns: functions that write a few operations on an available value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.case.choices import name_of
from generators.chains.chain import LARGEST, Chain, size_of
from reference.ir.program import TensorType, Value
from reference.ir.types import ElementType

Takes = Callable[[TensorType], bool]
"""A predicate takes(type): whether a pattern can be written on values of a type."""

Write = Callable[[Chain, Value], Value]
"""A function write(chain, value): the result of the operations that it adds to the chain."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, and the types of the values that it accepts.

    A pattern with many variants has a `weight`: it is drawn that many times as often.
    """

    write: Write
    takes: Takes
    weight: int = 1

    @property
    def name(self) -> str:
        """The name of its function as words."""
        return name_of(self.write)


def is_any(of: TensorType) -> bool:
    """Accept every type."""
    del of
    return True


def is_number(of: TensorType) -> bool:
    """Accept types of numbers that include zero."""
    element = of.element
    has_zero = not element.is_float or element.float_format.has_zero
    return not element.is_boolean and has_zero


def is_signed(of: TensorType) -> bool:
    """Accept types of numbers that include zero and negative numbers."""
    element = of.element
    return is_number(of) and (
        element.is_complex
        or (element.is_float and element.float_format.signed)
        or (element.is_integer and element.is_signed)
    )


def is_integer(of: TensorType) -> bool:
    """Accept integer types."""
    return of.element.is_integer


def is_float(of: TensorType) -> bool:
    """Accept floating-point types that include zero and negative numbers."""
    return of.element.is_float and is_number(of) and of.element.float_format.signed


def is_continuous(of: TensorType) -> bool:
    """Accept types that elementary functions take: complex, or floats of at least 16 bits."""
    return of.element.is_complex or (of.element.is_float and of.element.bits >= 16)


def is_real(of: TensorType) -> bool:
    """Accept floating-point types of at least 16 bits, which elementary functions take."""
    return is_continuous(of) and not of.element.is_complex


def is_ordered(of: TensorType) -> bool:
    """Accept types of numbers that have an order: neither complex nor boolean."""
    return not of.element.is_complex and not of.element.is_boolean and is_number(of)


def is_bits(of: TensorType) -> bool:
    """Accept integer types and i1."""
    return of.element.is_integer or of.element.is_boolean


def is_complex(of: TensorType) -> bool:
    """Accept complex types."""
    return of.element.is_complex


def is_small(of: TensorType) -> bool:
    """Accept values small enough to be enlarged several times."""
    return size_of(of) <= LARGEST // 8


def is_shaped(of: TensorType) -> bool:
    """Accept small values of at least one dimension."""
    return of.rank > 0 and is_small(of)


def edges_of(element_type: ElementType) -> tuple[int, ...]:
    """Return numbers at the edges of an integer type: its bounds, and a first bit set."""
    return (
        element_type.max_integer,
        element_type.max_integer // 2 + 1,
        element_type.max_integer // 2,
        element_type.min_integer,
    )


def conjunction(first: Takes, second: Takes) -> Takes:
    """Accept values that both predicates accept."""
    return lambda of: first(of) and second(of)
