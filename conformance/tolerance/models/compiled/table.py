"""Which ops compilers compute otherwise, and how."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models import nan_of_powers
from conformance.tolerance.models.compiled import complex_formulas, orders
from conformance.tolerance.models.compiled.complex_formulas import Formula
from conformance.tolerance.models.compiled.functions import by_reciprocal, stepwise
from conformance.tolerance.rule import Deviation, Rule

_SIDES = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
"""Of the cuts of a square root and a logarithm, where rounding leaves open which is taken."""

_FORMULAS: dict[str, tuple[Formula, ...]] = {
    "atan2": tuple(partial(complex_formulas.atan2, sides=sides) for sides in _SIDES),
    "cosine": (complex_formulas.cosine,),
    "exponential": (complex_formulas.exponential,),
    "exponential_minus_one": (complex_formulas.exponential_minus_one,),
    "log": (complex_formulas.log,),
    "log_plus_one": (complex_formulas.log_plus_one,),
    "logistic": (complex_formulas.logistic,),
    "multiply": (complex_formulas.multiply,),
    "power": (complex_formulas.power,),
    "rsqrt": (complex_formulas.rsqrt,),
    "sine": (complex_formulas.sine,),
    "sqrt": (complex_formulas.sqrt,),
    "tan": (complex_formulas.tan,),
    "tanh": (complex_formulas.tanh,),
}

COMPLEX: dict[str, tuple[Deviation, ...]] = {
    **{op: stepwise(*formulas) for op, formulas in _FORMULAS.items()},
    "divide": (
        *stepwise(complex_formulas.divide),
        by_reciprocal(complex_formulas.divide_by_reciprocal),
    ),
    "clamp": (orders.BY_REAL_PART,),
    "compare": (orders.BY_REAL_PART,),
    "maximum": (orders.BY_REAL_PART,),
    "minimum": (orders.BY_REAL_PART,),
}
"""Deviations of complex numbers."""

_OF_CONSTANT_NAN = (
    "atan2", "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one",
    "logistic", "power", "rsqrt", "sine", "sqrt", "tan", "tanh",
)  # fmt: skip
"""Functions whose constant operands LLVM converts from narrow types."""

REAL: dict[str, tuple[Deviation, ...]] = {
    **dict.fromkeys(_OF_CONSTANT_NAN, (nan_of_powers.OF_FUNCTIONS,)),
    "convert": (nan_of_powers.CONVERTED,),
}
"""Deviations of real numbers."""


@cache
def compiled(rule: Rule, op: str, *, is_complex: bool) -> Rule:
    """Return the rule of an op that also names what compilers compute in its place.

    Not on the interpreter, which compiles nothing.
    """
    known = (COMPLEX if is_complex else REAL).get(op)
    if known is None:
        return rule
    elsewhere = rule.elsewhere
    if rule.on(Hardware.INTERPRETER) is rule:
        elsewhere = (*elsewhere, (Hardware.INTERPRETER, rule))
    return replace(rule, deviations=(*rule.deviations, *known), elsewhere=elsewhere)
