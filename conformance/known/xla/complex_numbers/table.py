"""Table of the hypotheses about functions of complex numbers, by op."""

from __future__ import annotations

from dataclasses import replace

from conformance.known.hypothesis import Hypothesis
from conformance.known.xla.complex_numbers import (
    complex_formulas,
    expanded_formulas,
    folded_formulas,
    orders,
)
from conformance.known.xla.complex_numbers.complex_formulas import Formula
from conformance.known.xla.complex_numbers.functions import (
    by_reciprocal,
    stepwise_hypotheses,
)

_FORMULAS: dict[str, tuple[Formula, ...]] = {
    "atan2": complex_formulas.angles(),
    "cosine": (complex_formulas.cosine,),
    "exponential": (complex_formulas.exponential,),
    "exponential_minus_one": (complex_formulas.exponential_minus_one,),
    "log": (complex_formulas.log,),
    "log_plus_one": (complex_formulas.log_plus_one,),
    "logistic": (complex_formulas.logistic,),
    "multiply": (complex_formulas.multiply,),
    "rsqrt": (complex_formulas.rsqrt,),
    "sign": (complex_formulas.sign,),
    "sine": (complex_formulas.sine,),
    "sqrt": (complex_formulas.sqrt, expanded_formulas.sqrt),
    "tan": (complex_formulas.tan,),
    "tanh": (complex_formulas.tanh,),
}


def _folding_classes(*formulas: Formula) -> tuple[Hypothesis, ...]:
    """Return the classes of formulas by which constant folding computes an op."""
    return tuple(replace(one, constants=("*",)) for one in stepwise_hypotheses(*formulas)[:2])


COMPLEX: dict[str, tuple[Hypothesis, ...]] = {
    **{op: stepwise_hypotheses(*formulas) for op, formulas in _FORMULAS.items()},
    "atan2": (
        *stepwise_hypotheses(*_FORMULAS["atan2"]),
        *_folding_classes(*folded_formulas.ANGLES),
    ),
    "divide": (
        *stepwise_hypotheses(complex_formulas.divide),
        replace(by_reciprocal(complex_formulas.divide_by_reciprocal), constants=("rhs",)),
    ),
    "power": (
        *stepwise_hypotheses(complex_formulas.power),
        *_folding_classes(complex_formulas.power_of_constant),
    ),
    "clamp": (orders.BY_REAL_PART,),
    "compare": (orders.BY_REAL_PART,),
    "maximum": (orders.BY_REAL_PART,),
    "minimum": (orders.BY_REAL_PART,),
}
"""The hypotheses about operands of complex numbers."""
