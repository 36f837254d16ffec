"""The figures of a sweep, worked out once more by MPFR: an oracle that shares no code with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np

from conformance.backends.session import open_session
from conformance.sweep.arguments import Domain
from conformance.sweep.function import Function, functions_of
from conformance.sweep.judging import outcome_of
from conformance.sweep.outcome import SweepOutcome
from reference.ir.types import Array, ElementType, from_bits
from reference.numerics.rounding import round_to, to_float64


def _logistic(x: Any) -> Any:
    return 1 / (1 + gmpy2.exp(-x))


MPFR: dict[str, Callable[..., Any]] = {
    "atan2": gmpy2.atan2,
    "cbrt": gmpy2.cbrt,
    "cosine": gmpy2.cos,
    "exponential": gmpy2.exp,
    "exponential_minus_one": gmpy2.expm1,
    "log": gmpy2.log,
    "log_plus_one": gmpy2.log1p,
    "logistic": _logistic,
    "mhlo.cosh": gmpy2.cosh,
    "mhlo.erf": gmpy2.erf,
    "power": lambda x, y: x**y,
    "rsqrt": gmpy2.rec_sqrt,
    "sine": gmpy2.sin,
    "sqrt": gmpy2.sqrt,
    "tan": gmpy2.tan,
    "tanh": gmpy2.tanh,
}
"""Functions by the mnemonic of their op."""

PRECISION = 400
"""Bits: enough for the arguments of f64, too."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Correctly rounded results, and the worst error in ulp, of normal numbers and in all."""

    right: int
    worst: float
    at: int
    errors: tuple[float, ...]


def function_of(op: str, of: str) -> Function:
    """Return the function of an op on an element type."""
    (function,) = functions_of([op], [of])
    return function


def any_numbers(function: Function, count: int, seed: int) -> tuple[Array, ...]:
    """Return arguments at random: half of any bits, half of ordinary size."""
    of, random = function.operand_type, np.random.default_rng(seed)
    drawn: list[Array] = []
    for _ in range(function.arity):
        codes = random.integers(0, 1 << of.bits, count // 2, dtype=np.uint64)
        near = np.exp2(random.normal(0.0, 3.0, count - count // 2))
        near *= random.choice([-1.0, 1.0], len(near))
        drawn.append(np.concatenate([from_bits(codes, of), round_to(near, of)]))
    return tuple(drawn)


def swept_figures(
    function: Function, operands: tuple[Array, ...], backend: str
) -> tuple[SweepOutcome, Array]:
    """Return the outcome of a sweep of these arguments, and the backend's results."""
    session, count = open_session(backend), len(operands[0])
    (actual,) = session.compile_cached(function.program(count)).run(operands)
    domain = Domain(function, count, 0, count, is_exhaustive=False, is_mirrored=False)
    return outcome_of(domain, operands, np.asarray(actual), session.hardware), np.asarray(actual)


def mpfr_figures(function: Function, operands: tuple[Array, ...], actual: Array) -> Figures:
    """Return the same figures from MPFR, which uses only the types' formats of the reference."""
    of = function.result_type
    columns = [to_float64(operand).tolist() for operand in operands]
    got = to_float64(actual).tolist()
    right, errors = 0, []
    for *arguments, result in zip(*columns, got, strict=True):
        exact = _exact_value(function.op, arguments)
        is_right = _is_rounded(exact, result, of)
        right += is_right
        is_normal = all(_is_normal(x, of) for x in (*arguments, result, float(exact)))
        errors.append(0.0 if is_right or not is_normal else error_of(exact, result, of))
    worst = max(errors, default=0.0)
    return Figures(right, worst, errors.index(worst) if errors else 0, tuple(errors))


def _exact_value(op: str, arguments: Sequence[float]) -> Any:
    with gmpy2.context(precision=PRECISION, emin=-(1 << 40), emax=1 << 40):
        return MPFR[op](*(gmpy2.mpfr(argument) for argument in arguments))


def _round_exact(exact: Any, of: ElementType) -> float:
    form = of.float_format
    least = form.min_exponent - form.mantissa_bits
    with gmpy2.context(
        precision=form.mantissa_bits + 1, emin=least + 1, emax=form.max_exponent + 1,
        subnormalize=True,
    ):  # fmt: skip
        return float(gmpy2.mpfr(exact))


def _is_rounded(exact: Any, result: float, of: ElementType) -> bool:
    expected = _round_exact(exact, of)
    if math.isnan(expected) or math.isnan(result):
        return math.isnan(expected) and math.isnan(result)
    return expected == result and math.copysign(1, expected) == math.copysign(1, result)


def _is_normal(x: float, of: ElementType) -> bool:
    return x == 0 or of.float_format.smallest_normal <= abs(x) <= of.float_format.max_finite


def error_of(exact: Any, result: float, of: ElementType) -> float:
    """Return the distance of a result from the exact value, in ulp of that value."""
    form = of.float_format
    exponent = max(gmpy2.get_exp(exact) - 1, form.min_exponent) if exact else form.min_exponent
    with gmpy2.context(precision=PRECISION):
        return float(
            abs(gmpy2.mpfr(result) - exact) * gmpy2.mpfr(2) ** (form.mantissa_bits - exponent)
        )


def disagreement(op: str, of: str, operands: tuple[Array, ...], backend: str) -> str:
    """Return the difference between a sweep's figures and MPFR's; "" if they agree."""
    function = function_of(op, of)
    outcome, actual = swept_figures(function, operands, backend)
    figures = mpfr_figures(function, operands, actual)
    if outcome.right != figures.right:
        return f"{outcome.right} results correctly rounded, {figures.right} by MPFR"
    swept = 0.0 if outcome.worst is None else outcome.worst.ulp or 0.0
    slack = _slack(function, figures.worst)
    if abs(swept - figures.worst) <= slack:
        return ""
    if outcome.worst is not None and swept > figures.worst:  # of a subnormal number
        return _disagreement_at_worst(function, operands, actual, swept, slack)
    failing = sum(one.count for one in outcome.classes if one.verdict.fails)
    above = sum(error > swept + slack for error in figures.errors)
    if above <= failing:  # divergent results are not measured
        return ""
    arguments = ", ".join(repr(operand[figures.at]) for operand in operands)
    return f"worst error {swept}, {figures.worst} by MPFR at {arguments}"


def _slack(function: Function, worst: float) -> float:
    """Return the largest distance of two errors.

    A sweep measures errors of f64 in extended precision, which has 11 bits more, and where a
    function has no such values in whole ulp from the rounded result.
    """
    if function.operand != "f64":
        return 1e-6 * worst
    assert function.real is not None
    return 2.0**-9 if function.real.extended else 0.5


def _disagreement_at_worst(
    function: Function, operands: tuple[Array, ...], actual: Array, swept: float, slack: float
) -> str:
    columns = [to_float64(operand).tolist() for operand in operands]
    for *arguments, result in zip(*columns, to_float64(actual).tolist(), strict=True):
        exact = _exact_value(function.op, arguments)
        if math.isfinite(result) and gmpy2.is_finite(exact):
            error = error_of(exact, result, function.result_type)
            if abs(error - swept) <= slack:
                return ""
    return f"worst error {swept}, which MPFR finds at no argument"
