"""Which element types each op is generated for, and which result types go with them.

Source: StableHLO specification, the types of each op's inputs. The type that names a cell is that
of the principal operand (`lhs`, `operand`, `on_true`); for `iota` and `constant` the output's.
"""

from __future__ import annotations

from functools import cache

from reference.ir.types import ALL, BOOLEAN, COMPLEX, FLOATS, INTEGERS, SIGNED, ElementType

_BITS = BOOLEAN + INTEGERS
_NUMBERS = INTEGERS + FLOATS + COMPLEX
_ANALYTIC = FLOATS + COMPLEX
_MAGNITUDES = SIGNED + FLOATS + COMPLEX
_COMPLEX_PARTS = tuple(row.part for row in COMPLEX)

ELEMENTWISE_TYPES: dict[str, tuple[ElementType, ...]] = {
    "abs": _MAGNITUDES,
    "add": ALL,
    "and": _BITS,
    "atan2": _ANALYTIC,
    "bitcast_convert": ALL,
    "cbrt": _ANALYTIC,
    "ceil": FLOATS,
    "clamp": ALL,
    "compare": ALL,
    "complex": _COMPLEX_PARTS,
    "constant": ALL,
    "convert": ALL,
    "cosine": _ANALYTIC,
    "count_leading_zeros": INTEGERS,
    "divide": _NUMBERS,
    "exponential": _ANALYTIC,
    "exponential_minus_one": _ANALYTIC,
    "floor": FLOATS,
    "imag": _ANALYTIC,
    "iota": _NUMBERS,
    "is_finite": FLOATS,
    "log": _ANALYTIC,
    "log_plus_one": _ANALYTIC,
    "logistic": _ANALYTIC,
    "maximum": ALL,
    "minimum": ALL,
    "multiply": ALL,
    "negate": _NUMBERS,
    "not": _BITS,
    "or": _BITS,
    "popcnt": INTEGERS,
    "power": _NUMBERS,
    "real": _ANALYTIC,
    "reduce_precision": FLOATS,
    "remainder": _NUMBERS,
    "round_nearest_afz": FLOATS,
    "round_nearest_even": FLOATS,
    "rsqrt": _ANALYTIC,
    "select": ALL,
    "shift_left": INTEGERS,
    "shift_right_arithmetic": INTEGERS,
    "shift_right_logical": INTEGERS,
    "sign": _MAGNITUDES,
    "sine": _ANALYTIC,
    "sqrt": _ANALYTIC,
    "subtract": _NUMBERS,
    "tan": _ANALYTIC,
    "tanh": _ANALYTIC,
    "xor": _BITS,
}
"""The element types of each elementwise op's cells, in the specification's order of types."""


@cache
def bitcast_results(of: ElementType) -> tuple[ElementType, ...]:
    """The element types that a tensor of `of` can be bitcast to, itself first.

    The wider type's bits must be a multiple of the narrower's (C1), and complex types go with
    complex types only (C2).
    """
    fitting = (
        row
        for row in ALL
        if row is not of
        and row.is_complex == of.is_complex
        and max(row.bits, of.bits) % min(row.bits, of.bits) == 0
    )
    return (of, *fitting)
