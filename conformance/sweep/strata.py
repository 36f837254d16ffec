"""Stratified samples of numbers: every exponent, thresholds, special values.

Codes are the bits of a number. Of floating-point types a stratum gives magnitudes, without signs.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from conformance.sweep.hard_cases import HARD_CASES
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, bits_dtype, to_bits
from reference.numerics.rounding import round_to

_NEAR = 8
"""Number of neighbours on both sides of a threshold."""

_TURNS = 64
"""Number of multiples of pi/2 that are all thresholds; larger ones are multiplied by powers of two.
"""


@lru_cache(maxsize=8)
def thresholds(element_type: ElementType) -> Array:
    """Return the codes of a type's thresholds and their neighbours, without signs.

    Powers of two with the neighbours of each; multiples of pi/2; arguments at which exponential,
    hyperbolic and power functions overflow, underflow or saturate; hard cases of the literature.
    """
    form = element_type.float_format
    exponents = range(form.min_exponent - form.mantissa_bits, form.max_exponent + 1)
    powers = [math.ldexp(1.0, n) for n in exponents]
    numbers = [*powers, *_bounds(element_type), *(k * math.pi / 2 for k in range(1, _TURNS))]
    numbers += [math.ldexp(k * math.pi / 2, n) for k in (1, 3) for n in range(4, 1020)]
    numbers += [float.fromhex(case) for case in HARD_CASES]
    finite = np.array([abs(number) for number in numbers if math.isfinite(number)])
    with np.errstate(all="ignore"):
        centres = to_bits(round_to(finite, element_type)).astype(np.uint64) & np.uint64(
            _magnitudes(element_type) - 1
        )
    around = np.arange(-_NEAR, _NEAR + 1)
    codes = (centres[:, None].astype(np.int64) + around).reshape(-1)
    codes = codes[(codes >= 0) & (codes < _magnitudes(element_type))]
    ends = np.array([0, 1, 2, _magnitudes(element_type) - 1])
    return np.unique(np.concatenate([codes, ends])).astype(bits_dtype(element_type))


def _bounds(element_type: ElementType) -> list[float]:
    """Return arguments at which elementary functions change their behaviour."""
    form = element_type.float_format
    least = math.ldexp(1.0, form.min_exponent - form.mantissa_bits)
    normal, epsilon = math.ldexp(1.0, form.min_exponent), math.ldexp(1.0, -form.mantissa_bits)
    ends = [form.max_finite, normal, least, least / 2, epsilon, epsilon / 2]
    logs = [abs(math.log(end)) for end in ends if end > 0]
    roots = [end ** (1 / n) for end in ends if end > 0 for n in (2, 3, 4)]
    saturated = [math.log(4 / epsilon) / 2, math.sqrt(math.log(1 / epsilon))]
    return [*ends, *logs, *(log / math.log(2) for log in logs), *roots, *saturated, 0.5, 0.75, 1.25]


def _magnitudes(element_type: ElementType) -> int:
    """Return the number of codes without their signs."""
    return 1 << (element_type.bits - element_type.float_format.signed)


def magnitudes(element_type: ElementType, count: int, random: np.random.Generator) -> Array:
    """Return about `count` distinct codes of a floating-point type without signs, ascending.

    At most a quarter are thresholds; all thresholds are included if they are that few. The others
    are spread evenly over the exponents, the significands of each drawn at random.
    """
    fixed = thresholds(element_type)
    if 4 * len(fixed) > count:
        fixed = np.sort(random.choice(fixed, max(1, count // 4), replace=False))
    each = 1 << element_type.float_format.mantissa_bits
    exponents = _magnitudes(element_type) // each
    drawn = max(0, count - len(fixed))
    field = np.arange(drawn, dtype=np.uint64) % np.uint64(exponents)
    codes = field * np.uint64(each) + random.integers(0, each, drawn, dtype=np.uint64)
    return np.unique(np.concatenate([codes.astype(fixed.dtype), fixed]))


def integers(element_type: ElementType, count: int, random: np.random.Generator) -> Array:
    """Return `count` codes of an integer type: of every bit length, and around powers of two."""
    length = random.integers(0, element_type.bits + 1, count).astype(np.uint64)
    drawn = random.integers(0, 1 << 63, count, dtype=np.uint64) * np.uint64(2)
    codes = np.where(length == 0, np.uint64(0), drawn >> (np.uint64(64) - np.maximum(length, 1)))
    power = np.uint64(1) << random.integers(0, element_type.bits, count).astype(np.uint64)
    near = power + random.integers(-2, 3, count).astype(np.int64).view(np.uint64)
    codes = np.where(random.random(count) < 0.25, near, codes)
    negated = random.random(count) < 0.5
    codes = np.where(negated & element_type.is_signed, np.uint64(0) - codes, codes)
    mask = np.uint64((1 << element_type.bits) - 1)
    return (codes & mask).astype(bits_dtype(element_type))


def parts(element_type: ElementType, count: int, random: np.random.Generator) -> Array:
    """Return `count` codes of real or imaginary parts, in random order, with random signs.

    Half of them are spread over all exponents; the others lie near 1, where functions of several
    arguments have most of their features, or are thresholds.
    """
    if not element_type.is_float:
        return integers(element_type, count, random)
    pool = magnitudes(element_type, max(count, 64), random)
    codes = random.choice(pool, count).astype(np.uint64)
    near = np.exp2(random.normal(0.0, 3.0, count))
    middle = to_bits(round_to(near, element_type)).astype(np.uint64)
    codes = np.where(random.random(count) < 0.4, middle, codes)
    fixed = random.choice(thresholds(element_type), count).astype(np.uint64)
    codes = np.where(random.random(count) < 0.1, fixed, codes)
    if element_type.float_format.signed:
        sign = random.integers(0, 2, count, dtype=np.uint64) << np.uint64(element_type.bits - 1)
        codes = codes | sign
    return codes.astype(bits_dtype(element_type))


def specials(element_type: ElementType) -> Array:
    """Return the codes of numbers that are combined in every way."""
    if not element_type.is_float:
        low = 1 << (element_type.bits - 1)
        values = (
            0,
            1,
            2,
            3,
            low - 1,
            low,
            low + 1,
            (1 << element_type.bits) - 1,
            (1 << element_type.bits) - 2,
        )
        return np.unique(
            np.array(
                [value % (1 << element_type.bits) for value in values], bits_dtype(element_type)
            )
        )
    form = element_type.float_format
    finite = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, form.max_finite, 2.0**form.min_exponent])
    with np.errstate(all="ignore"):
        codes = to_bits(round_to(finite, element_type)).astype(np.uint64)
        apart = to_bits(round_to(np.array([np.inf, np.nan]), element_type)).astype(np.uint64)
    codes = np.concatenate([codes, apart, np.array([1], np.uint64)])
    sign = np.uint64(1 << (element_type.bits - 1) if form.signed else 0)
    return np.unique(np.concatenate([codes, codes | sign])).astype(bits_dtype(element_type))


PARTS = {name: of.part for name, of in ELEMENT_TYPES.items()}
"""The element type of the parts of a complex type, or the type itself."""
