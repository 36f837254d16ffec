"""Which ops of complex numbers compilers compute otherwise, and how."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from itertools import product

from conformance.tolerance.models.compiled import complex_formulas, orders
from conformance.tolerance.models.compiled.complex_formulas import Formula
from conformance.tolerance.models.compiled.functions import stepwise
from conformance.tolerance.rule import Deviation, Rule

_SIDES = tuple(product((1.0, -1.0), repeat=2))

_FORMULAS: dict[str, tuple[Formula, ...]] = {
    "atan2": tuple(partial(complex_formulas.atan2, sides=sides) for sides in _SIDES),
    "cosine": (complex_formulas.cosine,),
    "divide": (complex_formulas.divide,),
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

DEVIATIONS: dict[str, tuple[Deviation, ...]] = {
    **{op: stepwise(*formulas) for op, formulas in _FORMULAS.items()},
    "clamp": (orders.BY_REAL_PART,),
    "compare": (orders.BY_REAL_PART,),
    "maximum": (orders.BY_REAL_PART,),
    "minimum": (orders.BY_REAL_PART,),
}


@cache
def compiled(rule: Rule, op: str) -> Rule:
    """The rule of an op that, of complex numbers, also names what compilers compute in its place.

    Not on hardware that has a rule of its own, such as the interpreter, which compiles nothing.
    """
    known = DEVIATIONS.get(op)
    return replace(rule, deviations=(*rule.deviations, *known)) if known else rule
