"""Values that compilers assume to be nonnegative.

A magnitude, a square, an exponential and a selection of such numbers are nonnegative: compilers
assume x >= 0. This is wrong for NaN, and for integers that wrap around: the square of 12 in eight
bits, the magnitude of the smallest integer, and an iota beyond the range of its type.
"""

from __future__ import annotations

from conformance.known.rewritings.narrow.integers import is_narrow
from conformance.known.rewritings.values import ObservedProgram
from reference.ir.program import Value
from reference.numerics.rounding import to_float64
from reference.ops.table import OPS


def is_not_negative(shown: ObservedProgram, value: Value) -> bool:
    """Return whether a value is assumed nonnegative, by its defining operation."""
    maker = shown.maker(value)
    if maker is None:
        return False
    if maker.name in ("abs", "exponential"):
        return True
    if maker.name == "iota":  # narrower ones are kept in eight bits: see narrow/integers.py
        return not is_narrow(value)
    if shown.is_folded(value):
        constant = shown.constant(value)
        return constant is not None and bool((to_float64(constant) >= 0).all())
    operands = maker.operands[1:] if maker.name == "select" else maker.operands
    found = (is_not_negative(shown, operand) for operand in operands)
    match maker.name:
        case "maximum":
            return any(found)
        case "multiply" | "power" if square_root_of(shown, value) is not None:
            return True
        case "sqrt":  # which becomes a magnitude
            return square_root_of(shown, operands[0]) is not None
        case "minimum" | "multiply" | "select":
            return all(found)
        case name:
            rearranges = name in OPS and OPS[name].rearranges
            return (rearranges or name == "convert") and all(found)


def square_root_of(shown: ObservedProgram, value: Value) -> Value | None:
    """Return x for a value that is computed as x * x or x^2; None for other values."""
    maker = shown.maker(value)
    if maker is None or maker.name not in ("multiply", "power"):
        return None
    one, other = maker.operands
    is_square = one.name == other.name if maker.name == "multiply" else shown.is_all(other, 2)
    return one if is_square else None
