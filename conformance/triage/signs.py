"""What compilers take for not negative, for which they leave comparisons with zero out, and make
shifts of quotients.

A magnitude, a square, an exponential and what is chosen among such numbers are not negative: of
them x >= 0 is taken to hold. It does not hold of NaN, nor of integers that wrap around, as the
square of 12 in eight bits, the magnitude of the smallest integer and an iota beyond its type do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.triage.exponentials import squared
from conformance.triage.narrow import is_narrow
from conformance.triage.prediction import Predicted, Shown
from reference.ir.program import Operation, Program, Value
from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS

NOT_NEGATIVE = "taken for not negative"

_OF_ZERO = {("GE", 0): True, ("LT", 0): False, ("LE", 1): True, ("GT", 1): False}
"""By direction and by the place of the number that is not negative: what comes of it and zero."""


def of_comparison(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """x >= 0 as true and x < 0 as false, x being taken for not negative."""
    shown = Shown(program, values)
    direction = operation.attribute("comparison_direction")
    for number, value in enumerate(operation.operands):
        zero, taken = operation.operands[1 - number], values.get(value.name)
        known = _OF_ZERO.get((str(direction), number))
        if known is None or taken is None or element_type_of(taken).is_complex:
            continue
        if shown.is_all(zero, 0) and is_not_negative(shown, value):
            yield Predicted(np.full(taken.shape, known))


def of_quotient(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """x / 2^n of integers as x shifted to the right, and the remainder as the low bits of x, x
    being taken for not negative."""
    shown, (value, by) = Shown(program, values), operation.operands
    x, divisor = values.get(value.name), shown.constant(by)
    if x is None or divisor is None or not element_type_of(x).is_signed:
        return
    bits, number = to_bits(x), to_bits(divisor)
    is_power = (divisor > 0) & (number & (number - 1) == 0)
    if not is_power.all() or not is_not_negative(shown, value):
        return
    found = bits & (number - 1) if operation.name == "remainder" else bits // number
    yield Predicted(from_bits(found.astype(bits.dtype), element_type_of(x)))


def is_not_negative(shown: Shown, value: Value) -> bool:
    """Whether a value is taken for not negative, by what makes it."""
    maker = shown.maker(value)
    if maker is None:
        return False
    if maker.name in ("abs", "exponential"):
        return True
    if maker.name == "iota":  # narrower ones are kept in eight bits: see narrow.py
        return not is_narrow(value)
    if shown.is_folded(value):
        constant = shown.constant(value)
        return constant is not None and bool((to_float64(constant) >= 0).all())
    operands = maker.operands[1:] if maker.name == "select" else maker.operands
    found = (is_not_negative(shown, operand) for operand in operands)
    match maker.name:
        case "maximum":
            return any(found)
        case "multiply" | "power" if squared(shown, value) is not None:
            return True
        case "sqrt":  # which becomes a magnitude
            return squared(shown, operands[0]) is not None
        case "minimum" | "multiply" | "select":
            return all(found)
        case name:
            rearranges = name in OPS and OPS[name].rearranges
            return (rearranges or name == "convert") and all(found)
