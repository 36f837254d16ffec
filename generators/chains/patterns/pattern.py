"""What a pattern is: a function that writes a few operations on a value at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from generators.case.choices import name_of
from generators.chains.chain import LARGEST, Chain, size_of
from reference.ir.program import TensorType, Value
from reference.ir.types import ElementType

Takes = Callable[[TensorType], bool]
"""takes(type): whether a pattern can be written on values of a type."""

Write = Callable[[Chain, Value], Value]
"""write(chain, value): the result of the operations that it adds to the chain."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, and the types of the values that it can be written on.

    One that stands for many rewritings has a `weight`: so many times as often is it drawn.
    """

    write: Write
    takes: Takes
    weight: int = 1

    @property
    def name(self) -> str:
        """Its function's name in words."""
        return name_of(self.write)


def anything(of: TensorType) -> bool:
    """Any value."""
    del of
    return True


def numbers(of: TensorType) -> bool:
    """Numbers of any kind, of which there are zeros."""
    element = of.element
    has_zero = not element.is_float or element.float_format.has_zero
    return not element.is_boolean and has_zero


def signed(of: TensorType) -> bool:
    """Numbers that have negatives."""
    element = of.element
    return numbers(of) and (
        element.is_complex
        or (element.is_float and element.float_format.signed)
        or (element.is_integer and element.is_signed)
    )


def integers(of: TensorType) -> bool:
    """Integers."""
    return of.element.is_integer


def floats(of: TensorType) -> bool:
    """Floating-point numbers with zeros and negatives."""
    return of.element.is_float and numbers(of) and of.element.float_format.signed


def continuous(of: TensorType) -> bool:
    """Numbers that elementary functions take."""
    return of.element.is_complex or (of.element.is_float and of.element.bits >= 16)


def real(of: TensorType) -> bool:
    """Real numbers that elementary functions take."""
    return continuous(of) and not of.element.is_complex


def ordered(of: TensorType) -> bool:
    """What can be compared by size."""
    return not of.element.is_complex and not of.element.is_boolean and numbers(of)


def bits(of: TensorType) -> bool:
    """What is made of bits: integers and truth values."""
    return of.element.is_integer or of.element.is_boolean


def complexes(of: TensorType) -> bool:
    """Complex numbers."""
    return of.element.is_complex


def small(of: TensorType) -> bool:
    """Values that may become several times as large."""
    return size_of(of) <= LARGEST // 8


def shaped(of: TensorType) -> bool:
    """Values of at least one dimension."""
    return of.rank > 0 and small(of)


def edges_of(of: ElementType) -> tuple[int, ...]:
    """Numbers at the edges of an integer type: its ends, and where a first bit is set."""
    return (of.max_integer, of.max_integer // 2 + 1, of.max_integer // 2, of.min_integer)


def both(first: Takes, second: Takes) -> Takes:
    """What both take."""
    return lambda of: first(of) and second(of)
