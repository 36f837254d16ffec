"""The forms of an op in a sweep: conversions by result type, comparisons by direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from generators.families.elementwise import compare_attributes
from reference.ir.program import Attribute
from reference.ir.types import ALL, ElementType


@dataclass(frozen=True, slots=True)
class Variant:
    """A form of an op: its attributes, the result type if the op needs it, and a label."""

    label: str = ""
    attributes: tuple[tuple[str, Attribute], ...] = ()
    result: ElementType | None = None


_WIDEST = 32
"""Number of bits of the widest result type of a conversion, unless `--to` names the type."""

_PRECISIONS = ((5, 10), (8, 7), (5, 2), (4, 3), (8, 10), (2, 1))
"""(exponent_bits, mantissa_bits) of reduce_precision: f16, bf16, f8E5M2, f8E4M3, TF32, f4E2M1."""


def _conversions(element_type: ElementType, to: Sequence[str]) -> Iterator[Variant]:
    for target in ALL:
        if target is not element_type and (target.name in to if to else target.bits <= _WIDEST):
            yield Variant(f"to {target.name}", (), target)


def _comparisons(element_type: ElementType, to: Sequence[str]) -> Iterator[Variant]:
    del to
    for given in compare_attributes(element_type):
        if "compare_type" in given:
            direction, kind = given["comparison_direction"], given["compare_type"]
            yield Variant(f"{direction} {kind}", tuple(given.items()))


def _precisions(element_type: ElementType, to: Sequence[str]) -> Iterator[Variant]:
    del element_type, to
    for exponent, mantissa in _PRECISIONS:
        given = (("exponent_bits", exponent), ("mantissa_bits", mantissa))
        yield Variant(f"e{exponent}m{mantissa}", given)


VARIANTS: dict[str, Callable[[ElementType, Sequence[str]], Iterator[Variant]]] = {
    "compare": _comparisons,
    "convert": _conversions,
    "reduce_precision": _precisions,
}
"""Functions variants(operand type, names of result types) of each op with several forms; no names
select all types.
"""


def variants_of(op: str, element_type: ElementType, to: Sequence[str] = ()) -> list[Variant]:
    """Return the forms in which an op is swept on operands of a type."""
    return list(VARIANTS[op](element_type, to)) if op in VARIANTS else [Variant()]
