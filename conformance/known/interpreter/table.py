"""Table of the ops that the interpreter computes differently, with their hypotheses."""

from __future__ import annotations

from conformance.known import e8m0_nans
from conformance.known.hypothesis import Hypothesis, region_hypothesis
from conformance.known.interpreter import (
    formulas,
    indices,
    libm,
    orders,
    quantized,
    ragged,
    rounding,
    sums,
    transforms,
)
from reference.ops.table import OPS

_IN_F64 = (e8m0_nans.POWERS_OF_INFINITY,)
"""Hypotheses about functions that are evaluated in f64."""

_ALONE: dict[str, tuple[Hypothesis, ...]] = {
    "atan2": (*_IN_F64, formulas.ATAN2),
    "cbrt": (*_IN_F64, libm.BY_LIBRARY, formulas.CBRT),
    "ceil": (rounding.TO_WHOLE,),
    "chlo.ragged_dot": (sums.STEP_BY_STEP, ragged.MISPLACED),
    "convert": (e8m0_nans.CONVERTED,),
    "convolution": (sums.WINDOWS_STEP_BY_STEP,),
    "compare": (orders.COMPARED,),
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
    "sine": _IN_F64,
    "sort": (orders.SORTED,),
    "sqrt": _IN_F64,
    "tan": (*_IN_F64, libm.BY_LIBRARY),
    "tanh": (*_IN_F64, libm.BY_LIBRARY),
    "uniform_dequantize": (quantized.WRAPPED,),
}

_IN_REGIONS = region_hypothesis(e8m0_nans.LABEL, _ALONE)

INTERPRETER = _ALONE | {
    op: (*_ALONE.get(op, ()), _IN_REGIONS) for op, record in OPS.items() if record.regions
}
