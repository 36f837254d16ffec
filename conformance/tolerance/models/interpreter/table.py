"""Which ops the interpreter computes otherwise, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from conformance.tolerance.bounds import sorting
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.models import nan_of_powers
from conformance.tolerance.models.indexing import out_of_bounds
from conformance.tolerance.models.interpreter import (
    formulas,
    indices,
    orders,
    quantized,
    ragged,
    rounding,
    sums,
    transforms,
)
from conformance.tolerance.rule import Deviation, Refutes, Rule
from reference.ir.types import Array

_IN_F64 = (nan_of_powers.OF_FUNCTIONS,)
"""Of functions that are evaluated in f64."""

DEVIATIONS: dict[str, tuple[Deviation, ...]] = {
    "atan2": (*_IN_F64, formulas.ATAN2),
    "cbrt": (*_IN_F64, formulas.CBRT),
    "ceil": (rounding.TO_WHOLE,),
    "chlo.ragged_dot": (sums.STEP_BY_STEP, ragged.MISPLACED),
    "convert": (nan_of_powers.CONVERTED,),
    "convolution": (sums.WINDOWS_STEP_BY_STEP,),
    "cosine": _IN_F64,
    "divide": (formulas.DIVIDE,),
    "dot": (sums.STEP_BY_STEP,),
    "dot_general": (sums.ALGORITHM_IGNORED, sums.STEP_BY_STEP),
    "dynamic_conv": (sums.WINDOWS_STEP_BY_STEP,),
    "dynamic_gather": (indices.UNSIGNED_START,),
    "dynamic_slice": (indices.UNSIGNED,),
    "dynamic_update_slice": (indices.UNSIGNED,),
    "exponential": _IN_F64,
    "exponential_minus_one": (*_IN_F64, formulas.EXPONENTIAL_MINUS_ONE),
    "fft": (transforms.DIRECT_SUM,),
    "floor": (rounding.TO_WHOLE,),
    "gather": (indices.UNSIGNED_START,),
    "log": _IN_F64,
    "log_plus_one": (*_IN_F64, formulas.LOG_PLUS_ONE),
    "logistic": (*_IN_F64, rounding.LOGISTIC, formulas.LOGISTIC),
    "multiply": (formulas.MULTIPLY,),
    "power": (*_IN_F64, formulas.POWER),
    "ScaledDot": (sums.SCALED_STEP_BY_STEP,),
    "reduce_precision": (rounding.TO_FEWER_BITS,),
    "round_nearest_afz": (rounding.TO_WHOLE,),
    "round_nearest_even": (rounding.TO_WHOLE,),
    "rsqrt": _IN_F64,
    "scatter": (),
    "sine": _IN_F64,
    "sort": (orders.SORTED,),
    "sqrt": _IN_F64,
    "tan": _IN_F64,
    "tanh": _IN_F64,
    "uniform_dequantize": (quantized.WRAPPED,),
}


_ELSEWHERE = frozenset(
    {sorting.NEGATIVE, out_of_bounds.WINDOW, out_of_bounds.BOUND, out_of_bounds.NO_INDICES}
)
"""Classes of what compilers do and the interpreter does not: it counts dimensions from the last,
drops updates out of bounds alone, and has a window for each index vector, as it should."""


def _refuting(refutes: Refutes) -> Refutes:
    def asked(*given: Any) -> tuple[Sequence[tuple[str, Array]], ...]:
        found = refutes(*given)
        return tuple([one for one in masks if one[0] not in _ELSEWHERE] for masks in found)

    return asked


@cache
def deviating(rule: Rule, op: str) -> Rule:
    """The rule of an op that on the interpreter also names what that computes in place of it."""
    known = DEVIATIONS.get(op)
    if known is None:
        return rule
    refutes = rule.refutes and _refuting(rule.refutes)
    there = replace(rule, deviations=(*known, *rule.deviations), refutes=refutes)
    return replace(rule, elsewhere=(*rule.elsewhere, (Hardware.INTERPRETER, there)))
