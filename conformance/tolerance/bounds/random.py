"""Tolerance rules of the ops of reference/ops/random.py.

The implementation chooses the numbers; their distribution is specified. The test is Kolmogorov's
and Smirnov's, with the bound of Dvoretzky, Kiefer and Wolfowitz in Massart's form (1990), P(sup
|F_n - F| > e) <= 2 exp(-2 n e^2), for every n and every distribution. At p < 1e-9 a right generator
is in practice never refuted, and small samples are never refuted.

The specification does not state the granularity of the numbers. Generators give uniform numbers
that are multiples of one unit of the significand (Goualard, "Generating Random Floating-Point
Numbers by Dividing Integers", 2020), and normal numbers made of uniform numbers (Thomas, Luk, Leong
and Villasenor, "Gaussian Random Number Generators", 2007). The test assumes that granularity.

Numbers that are distributed as asked may still not be random. Three tests, each with a bound that
holds for independent draws, refute sequences whatever their distribution (Knuth, The Art of
Computer Programming, volume 2, section 3.3.2): too many repeated numbers, a run that rises or
falls for too long, and pairs of neighbours that rise too often or too seldom.

`RngBernoulli` gives numbers that are 0 or 1 with a probability. Their count determines the
distribution: the test is the exact binomial test, with half of that p at either end. A probability
has the granularity of the uniform numbers that are compared with it.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from conformance.tolerance.rule import Rule
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of, to_bits
from reference.numerics.products import to_wide_type
from reference.numerics.rounding import ulp_size
from reference.unspecified.random import is_invalid_mean, is_undefined

UPPER_LIMIT_REACHED = "upper limit reached"
"""Class of uniform numbers that are rounded to their excluded upper limit."""

PROBABILITY = 1e-9
_NORMAL_STEPS = 4
"""Slack of a normal distribution, in steps of uniform numbers with as many bits as the significand:
normal numbers are made of these."""

_F32 = ELEMENT_TYPES["f32"]

Exclusions = tuple[tuple[tuple[str, Array], ...], ...]


def _dkw_bound(count: int) -> float:
    """Return the largest distance of an empirical distribution from the true distribution, by the
    DKW bound.
    """
    return math.sqrt(math.log(2 / PROBABILITY) / (2 * count))


def is_refuted(low: Array, high: Array, slack: float = 0.0) -> bool:
    """Return whether samples are not of a distribution F, given F (sorted) below and above each."""
    count = len(low)
    if not count:
        return False
    rank = np.arange(count, dtype=np.float64)
    apart = max(float(((rank + 1) / count - high).max()), float((low - rank / count).max()))
    return apart > _dkw_bound(count) + slack


def _refutes_uniform(values: Array, low: Array, high: Array, element_type: ElementType) -> bool:
    width = float(high) - float(low)
    sorted_ = np.sort(values.reshape(-1)).astype(np.float64) - float(low)
    if not element_type.is_float:  # F(k) = (k + 1 - a) / (b - a) at integers k, and F(k - 1) before
        return is_refuted(sorted_ / width, (sorted_ + 1) / width)
    step = float(ulp_size(np.maximum(np.abs(low), np.abs(high)), element_type))
    steps = 0.5**element_type.float_format.mantissa_bits + 2 * step / width
    return is_refuted(sorted_ / width, sorted_ / width, steps)


def _refutes_normal(
    values: Array, mean: Array, deviation: Array, element_type: ElementType
) -> bool:
    if deviation == 0:
        return False
    ordered = np.sort(values.reshape(-1))
    step = ulp_size(ordered, element_type) + ulp_size(mean, element_type)
    low, high = (
        np.array([math.erf(z / math.sqrt(2)) for z in bound.astype(np.float64)]) / 2 + 0.5
        for bound in ((ordered - step - mean) / deviation, (ordered + step - mean) / deviation)
    )
    return is_refuted(low, high, _NORMAL_STEPS * 0.5**element_type.float_format.mantissa_bits)


def is_not_random(values: Array, most_probable: float) -> bool:
    """Return whether a sequence is refuted by repeated numbers, long runs, or its pairs.

    Args:
        values: the numbers in the order in which they were drawn.
        most_probable: the largest probability of a single number.
    """
    count = len(values)
    repeated = count - len(np.unique(values))
    if repeated and _binomial_tail(repeated, count, count * most_probable) < PROBABILITY:
        return True  # a number repeats one of those before with that probability at most
    ways = np.sign(np.diff(values.astype(np.float64)))
    if _longest_run_probability(ways) < PROBABILITY:
        return True
    pairs = ways[::2]  # of numbers that no other pair has
    rising, apart = int((pairs > 0).sum()), int((pairs != 0).sum())
    tail = _binomial_tail(max(rising, apart - rising), apart, 0.5)
    return 2 * tail < PROBABILITY


def _longest_run_probability(ways: Array) -> float:
    """Return a bound on the probability of a run as long as the longest of steps in one direction.

    A given sequence of n independent numbers rises with a probability of 1 / n! at most.
    """
    ends = np.flatnonzero(np.concatenate([[True], ways[1:] != ways[:-1], [True]]))
    runs = np.diff(ends)[ways[ends[:-1]] != 0] if len(ways) else np.array([], np.int64)
    if not runs.size:
        return 1.0
    length = int(runs.max()) + 1
    places = len(ways) + 2 - length
    return min(1.0, 2 * places * math.exp(-math.lgamma(length + 1)))


def _most_probable_uniform(low: Array, high: Array, element_type: ElementType) -> float:
    """Return the largest probability of a single number of a uniform distribution."""
    if not element_type.is_float:
        return 1 / (int(high) - int(low))
    width = float(high) - float(low)
    step = float(ulp_size(np.maximum(np.abs(low), np.abs(high)), element_type))
    return _granularity(element_type) + 2 * step / width


def _granularity(element_type: ElementType) -> float:
    """Return the largest step of uniform numbers from 0 to 1; many f64 numbers have that of f32."""
    return 0.5 ** min(element_type.float_format.mantissa_bits, _F32.float_format.mantissa_bits)


def _most_probable_normal(values: Array, deviation: Array, element_type: ElementType) -> float:
    """Return the largest probability of a single number of a normal distribution."""
    if deviation == 0:
        return 1.0
    step = float(np.max(ulp_size(values, element_type), initial=0.0))
    return _NORMAL_STEPS * _granularity(element_type) + step / float(deviation)


def _exclude_rng(
    operation: Operation,
    operands: tuple[Array, ...],
    _: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> Exclusions:
    """Mark numbers outside of [a, b), and all numbers if their distribution or order is refuted.

    The upper limit itself, and infinity where b - a overflows, are numbers in range after rounding.
    """
    if is_undefined(operation, operands):
        return ((),)
    element_type = element_type_of(actual[0])
    a, b, values = (to_wide_type(array) for array in (*operands[:2], actual[0]))
    reached = np.zeros(values.shape, np.bool_)
    if operation.attribute("rng_distribution") == "UNIFORM":
        outside = ~((values >= a) & (values < b))
        if element_type.is_float:
            reached = values == (b if b - a <= element_type.float_format.max_finite else np.inf)
        wrong = not outside.any() and _refutes_uniform(values, a, b, element_type)
        repeats = partial(_most_probable_uniform, a, b, element_type)
    else:
        beyond = (
            np.abs(a) + 16 * b > element_type.float_format.max_finite
        )  # one number in 10^57 is farther
        outside = np.isnan(values) | (np.isinf(values) & ~beyond) | ((b == 0) & (values != a))
        wrong = not outside.any() and not beyond and _refutes_normal(values, a, b, element_type)
        repeats = partial(_most_probable_normal, values, b, element_type)
    if values.size and not wrong and not outside.any() and not reached.any():
        wrong = is_not_random(values.reshape(-1), repeats())
    everywhere = np.full(values.shape, bool(wrong))
    limit = (UPPER_LIMIT_REACHED, np.asarray(reached))
    return ((limit, ("out of range", np.asarray(outside)), ("distribution", everywhere)),)


def _permit_rng(
    operation: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    _: tuple[Array, ...],
) -> tuple[Array | None, ...]:
    if is_undefined(operation, operands):
        return (None,)
    return (np.ones(expected[0].shape, np.bool_),)


def _binomial_tail(ones: int, count: int, probability: float) -> float:
    """Return the probability that at least `ones` of `count` numbers are 1."""
    if ones <= 0 or probability >= 1:
        return 1.0
    if probability <= 0:
        return 0.0
    every = range(ones, count + 1)
    log_counts = (
        math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in every
    )
    logarithms = (math.log(probability), math.log1p(-probability))
    terms = (
        log_count + k * logarithms[0] + (count - k) * logarithms[1]
        for log_count, k in zip(log_counts, every, strict=True)
    )
    return math.fsum(map(math.exp, terms))


def refutes_mean(ones: int, count: int, mean: float) -> bool:
    """Return whether the count of ones refutes the mean."""
    step = 0.5**_F32.float_format.mantissa_bits if 0 < mean < 1 else 0.0
    many = _binomial_tail(ones, count, mean + step)
    few = _binomial_tail(count - ones, count, 1 - (mean - step))
    return min(many, few) < PROBABILITY / 2


def _exclude_bernoulli(
    _: Operation,
    operands: tuple[Array, ...],
    __: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> Exclusions:
    """Mark numbers that are neither 0 nor 1, and all numbers if their mean is refuted."""
    mean, (numbers,) = operands[0], actual
    if is_invalid_mean(mean):
        return ((),)
    outside = np.asarray(numbers > 1)
    wrong = not outside.any() and refutes_mean(int(numbers.sum()), numbers.size, float(mean))
    everywhere = np.full(numbers.shape, wrong)
    return ((("out of range", outside), ("distribution", everywhere)),)


def _permit_bernoulli(
    _: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    __: tuple[Array, ...],
) -> tuple[Array | None, ...]:
    return (None if is_invalid_mean(operands[0]) else np.ones(expected[0].shape, np.bool_),)


def _exclude_random_bits(
    _: Operation,
    operands: tuple[Array, ...],
    expected: tuple[Array, ...],
    actual: tuple[Array, ...],
) -> Exclusions:
    """Mark all output if its bits are not uniform, as numbers or bit by bit, or if it is no random
    sequence; and the state if it stays.
    """
    element_type, bits = element_type_of(actual[1]), to_bits(actual[1]).reshape(-1)
    if not bits.size:
        return ((), ())
    top = 2.0**element_type.bits
    ordered = np.sort(bits).astype(np.float64)
    ones = np.array(
        [
            ((bits >> bits.dtype.type(k)) & bits.dtype.type(1)).mean()
            for k in range(element_type.bits)
        ]
    )
    # A sum of independent bits: Hoeffding's inequality, for each of the positions.
    limit = math.sqrt(math.log(2 * element_type.bits / PROBABILITY) / (2 * bits.size))
    wrong = is_refuted(ordered / top, (ordered + 1) / top) or bool(
        (np.abs(ones - 0.5) > limit).any()
    )
    wrong = wrong or is_not_random(bits, 1 / top)
    stays = np.array_equal(operands[0], actual[0])
    return tuple(
        (("distribution", np.full(one.shape, is_wrong)),)
        for one, is_wrong in zip(expected, (stays, wrong), strict=True)
    )


DISTRIBUTED = Rule(
    "distribution",
    "UNIFORM: every number in [a, b); NORMAL: every number finite; and distributed as asked, by a "
    f"Kolmogorov-Smirnov test at p < {PROBABILITY:g}; and neither repeated nor ordered, by tests "
    "at the same p. Any such numbers are right",
    "StableHLO specification, rng; Massart 1990 for the test's bound; Knuth, section 3.3.2",
    permits=_permit_rng,
    excludes=_exclude_rng,
    is_nondeterministic=True,  # "may or may not be deterministic"
)
BERNOULLI = Rule(
    "zeros and ones",
    "every number 0 or 1, and as many ones as the mean asks for, by an exact binomial test at "
    f"p < {PROBABILITY:g}: none of a mean of 0, nothing else of a mean of 1. Any such numbers are "
    "right",
    "XLA operation semantics, RngBernoulli; Clopper and Pearson 1934 for the test",
    permits=_permit_bernoulli,
    excludes=_exclude_bernoulli,
    is_nondeterministic=True,
)
GENERATED = Rule(
    "random bits",
    "bit for bit what XLA's variants of Threefry-2x32-20 and Philox-4x32-10 give; other output is "
    "unspecified (every variant is implementation-defined), unless its bits are "
    f"not uniform, or repeated or ordered, at p < {PROBABILITY:g}; the state moves",
    "Salmon et al., 2011; XLA operation semantics, RngBitGenerator; StableHLO specification",
    excludes=_exclude_random_bits,
)
