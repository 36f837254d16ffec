"""Fillers of the value profiles for floating-point types (and the parts of complex types).

Each takes (element type, count, words) and returns codes as uint64; contents.py names them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from generators.values.codes import Words, decode, encode, infinity, nan_codes, nearest, step, top
from reference.ir.types import Array, ElementType

_LN2 = 0.6931471805599453
_VALUES = (
    0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 0.1, 1 / 3, 2 / 3, 100.0, 1e4,
    math.pi, math.pi / 2, math.pi / 4, 3 * math.pi / 4, 2 * math.pi, math.e, _LN2, 1 / _LN2,
    math.sqrt(2), math.sqrt(0.5), 127.0, 128.0, 255.0, 256.0, 65504.0, 65520.0,
    2.0**15, 2.0**16, 2.0**24, 2.0**31, 2.0**32, 2.0**52, 2.0**53, 2.0**63, 2.0**64,
    16367173 * 2.0**72, 6381956970095103 * 2.0**797,
)  # fmt: skip
"""Values worth their neighbours: constants of elementary functions, limits of integer and other
formats, and the multiples of pi / 2 nearest to a f32 and to a f64 (Muller, Elementary Functions,
chapter on argument reduction)."""


def _signs(count: int, words: Words) -> Array:
    return words.chance(count, 2)


def _codes_of(values: Array, element_type: ElementType) -> Array:
    sign, magnitude = nearest(values, element_type)
    return encode(sign, magnitude, element_type)


def _code_of_one(element_type: ElementType) -> int:
    return int(nearest(np.array([1.0]), element_type)[1][0])


def _first_normal(element_type: ElementType) -> int:
    fmt = element_type.float_format
    return 1 << fmt.mantissa_bits if fmt.has_zero else 0


def _codes_below(count: int, limit: int, words: Words) -> Array:
    """Return uniform magnitude codes in [0, limit), of any size, as int64."""
    return (words.words(count) % np.uint64(limit)).astype(np.int64)


def _log_uniform(count: int, bits: int, words: Words) -> Array:
    """Return integers of 0 to `bits` bits, with uniform length, as uint64 (at most 63 bits)."""
    length = words.below(count, bits + 1).astype(np.uint64)
    return (words.words(count) >> np.uint64(1)) >> (np.uint64(63) - length)


@cache
def _small_integers(element_type: ElementType) -> Array:
    wanted = np.array([0, *(sign * n for n in range(1, 9) for sign in (1, -1))], np.float64)
    sign, magnitude = nearest(wanted, element_type)
    held = decode(magnitude, element_type) == np.abs(wanted)
    if not element_type.float_format.signed:
        held &= ~sign
    return encode(sign, magnitude, element_type)[held]


def small_integers(element_type: ElementType, count: int, words: Words) -> Array:
    """Return integers from -8 to 8."""
    return words.choice(count, _small_integers(element_type))


@cache
def core_codes(element_type: ElementType) -> Array:
    """Return codes of zeros, +-1, infinities and one quiet NaN of each sign."""
    magnitudes = [0] if element_type.float_format.has_zero else []
    magnitudes.append(_code_of_one(element_type))
    if (inf := infinity(element_type)) is not None:
        magnitudes.append(inf)
    quiet = np.unique(_nans(element_type)[:: max(len(nan_codes(element_type)) // 2, 1)])
    return np.unique(np.concatenate([_add_negatives(magnitudes, element_type), quiet]))


@cache
def special_codes(element_type: ElementType) -> Array:
    """Return codes of all special values: the core, extremes, notable constants and neighbours."""
    fmt, normal, last = element_type.float_format, _first_normal(element_type), top(element_type)
    around = nearest(np.array([*_VALUES, *_limits(element_type)]), element_type)[1]
    codes = {int(code) for by in (-1, 0, 1) for code in step(around, by, element_type)}
    codes |= {0, 1, 2, 3, max(normal - 1, 0), normal, normal + 1, last, last - 1}
    codes |= {code for code in (last - (1 << fmt.mantissa_bits),) if code >= 0}
    found = [
        _add_negatives(sorted(codes), element_type),
        core_codes(element_type),
        _nans(element_type),
    ]
    return np.unique(np.concatenate(found))


def _limits(element_type: ElementType) -> tuple[float, ...]:
    """Return arguments at which results of this format overflow, underflow or become integers."""
    fmt = element_type.float_format
    low = fmt.min_exponent - fmt.mantissa_bits
    high = fmt.max_exponent + 1
    roots = (2.0 ** (high // 2), 2.0 ** (fmt.min_exponent // 2), 2.0 ** (-fmt.precision))
    whole = (2.0**fmt.precision, 2.0**fmt.mantissa_bits, 2.0 ** (fmt.mantissa_bits - 1))
    return (high * _LN2, -low * _LN2, float(high), float(-low), *roots, *whole)


def _add_negatives(magnitudes: list[int], element_type: ElementType) -> Array:
    both = np.array(magnitudes * 2, np.uint64)
    return encode(np.arange(len(both)) >= len(magnitudes), both, element_type)


def _nans(element_type: ElementType) -> Array:
    return np.array(nan_codes(element_type), np.uint64)


def special(element_type: ElementType, count: int, words: Words) -> Array:
    """Return special values, half of them zeros, +-1, infinities and NaNs."""
    core, every = (
        words.choice(count, core_codes(element_type)),
        words.choice(count, special_codes(element_type)),
    )
    return np.where(_signs(count, words), core, every)


def _landmarks(element_type: ElementType) -> Array:
    """Return the core codes, and codes of the following numbers and their negatives: 0.5, the
    largest, the smallest, and the smallest normal number.
    """
    half = int(nearest(np.array([0.5]), element_type)[1][0])
    extremes = [half, top(element_type), _first_normal(element_type), 1]
    return np.unique(
        np.concatenate([core_codes(element_type), _add_negatives(extremes, element_type)])
    )


def each_special(element_type: ElementType, count: int, words: Words) -> Array:
    """Return zeros, +-1, 0.5, extremes, infinities, NaNs, each before any is repeated."""
    return words.each(count, _landmarks(element_type))


def mixed(element_type: ElementType, count: int, words: Words) -> Array:
    """Return half special, half moderate values."""
    one, other = special(element_type, count, words), moderate(element_type, count, words)
    return np.where(_signs(count, words), one, other)


def unit(element_type: ElementType, count: int, words: Words) -> Array:
    """Return numbers uniform in [-1, 1]."""
    return _codes_of(2 * words.unit(count) - 1, element_type)


def moderate(element_type: ElementType, count: int, words: Words) -> Array:
    """Return bell-shaped numbers in [-8, 8]: sums of four uniform numbers."""
    total = words.unit(count) + words.unit(count) + words.unit(count) + words.unit(count)
    return _codes_of(4 * (total - 2), element_type)


def near_one(element_type: ElementType, count: int, words: Words) -> Array:
    """Return +-1 moved by up to a binade, by distances of uniform order of magnitude."""
    by = _log_uniform(count, element_type.float_format.mantissa_bits, words).astype(np.int64)
    by = np.where(_signs(count, words), by, -((by + 1) >> 1))  # below 1 the spacing is half
    return encode(
        _signs(count, words),
        step(np.full(count, _code_of_one(element_type)), by, element_type),
        element_type,
    )


def _wide_magnitudes(element_type: ElementType, count: int, words: Words) -> Array:
    codes = _codes_below(count, top(element_type) + 1, words)
    mantissa = element_type.float_format.mantissa_bits
    return np.where(words.chance(count, 8), codes >> mantissa << mantissa, codes)


def wide(element_type: ElementType, count: int, words: Words) -> Array:
    """Return finite numbers with uniform exponents, one in eight a power of two."""
    return encode(_signs(count, words), _wide_magnitudes(element_type, count, words), element_type)


def positive(element_type: ElementType, count: int, words: Words) -> Array:
    """Return numbers as `wide`, without negative numbers."""
    return _wide_magnitudes(element_type, count, words).astype(np.uint64)


def tiny(element_type: ElementType, count: int, words: Words) -> Array:
    """Return magnitudes up to 1, with uniform exponents."""
    return encode(
        _signs(count, words),
        _codes_below(count, _code_of_one(element_type) + 1, words),
        element_type,
    )


def bits(element_type: ElementType, count: int, words: Words) -> Array:
    """Return uniform bits; for at most 8 bits every code once per 2^bits elements."""
    return uniform_codes(element_type.part.bits, count, words)


def uniform_codes(width: int, count: int, words: Words) -> Array:
    """Return codes of `width` bits: uniform, or concatenated permutations for at most 8 bits."""
    if width > 8:
        return words.words(count) >> np.uint64(64 - width)
    size = 1 << width
    blocks = -(-count // size)
    factor = 2 * words.below(blocks, size) + 1
    start = words.below(blocks, size)
    codes = factor[:, None] * np.arange(size) + start[:, None]
    return (codes & (size - 1)).reshape(-1)[:count].astype(np.uint64)


def subnormal(element_type: ElementType, count: int, words: Words) -> Array:
    """Return numbers from 0 to just above the smallest normal number, with any significand
    length."""
    limit = max(_first_normal(element_type), 2) + 2
    uniform = _codes_below(count, limit, words)
    short = _log_uniform(count, max(element_type.float_format.mantissa_bits, 1), words).astype(
        np.int64
    )
    return encode(
        _signs(count, words), np.where(_signs(count, words), uniform, short), element_type
    )


def _draw_ulp_offsets(count: int, words: Words) -> Array:
    return words.choice(count, np.array([-1, 0, 0, 1]))


def ties(element_type: ElementType, count: int, words: Words) -> Array:
    """Return midpoints between integers, and their two neighbours."""
    whole = _log_uniform(count, element_type.float_format.precision, words).astype(np.float64)
    magnitude = nearest(whole + 0.5, element_type)[1]
    return encode(
        _signs(count, words),
        step(magnitude, _draw_ulp_offsets(count, words), element_type),
        element_type,
    )


def midpoints(element_type: ElementType, count: int, words: Words) -> Array:
    """Return significands ending in 1, then k zeros, or one ulp off: ties of shorter precisions."""
    codes = _codes_below(count, top(element_type) + 1, words)
    mantissa = element_type.float_format.mantissa_bits
    if mantissa:
        length = 1 + words.below(count, mantissa)
        codes = (codes >> length << length) | (np.int64(1) << (length - 1))
    return encode(
        _signs(count, words),
        step(codes, _draw_ulp_offsets(count, words), element_type),
        element_type,
    )


def large(element_type: ElementType, count: int, words: Words) -> Array:
    """Return numbers of the three largest binades."""
    down = _codes_below(count, 3 << element_type.float_format.mantissa_bits, words)
    return encode(_signs(count, words), np.maximum(top(element_type) - down, 0), element_type)


def trig(element_type: ElementType, count: int, words: Words) -> Array:
    """Return multiples of pi / 2, up to two ulp off."""
    multiple = _log_uniform(count, 24, words).astype(np.float64)
    magnitude = nearest(multiple * (math.pi / 2), element_type)[1]
    moved = step(magnitude, words.below(count, 5) - 2, element_type)
    return encode(_signs(count, words), moved, element_type)


_GAMMA_ZEROS = (
    1.0, 2.0, -2.4570247382208006, -2.747682646727413, -3.143580888349981, -3.955294284858597,
    1.4616321449683623, -0.5040830082644554, -1.5734984731623904, -2.6107208684441446,
)  # fmt: skip
"""Zeros of log|gamma(x)|, then of its derivative."""


def gamma_edges(element_type: ElementType, count: int, words: Words) -> Array:
    """Return zeros and poles of gamma functions, up to two ulp off."""
    points = np.concatenate([np.array(_GAMMA_ZEROS), -np.arange(10.0)])
    sign, magnitude = nearest(words.choice(count, points), element_type)
    moved = step(magnitude, words.below(count, 5) - 2, element_type)
    return encode(sign, moved, element_type)


def exp_domain(element_type: ElementType, count: int, words: Words) -> Array:
    """Return numbers uniform where exp(x) is neither infinite nor zero, and slightly beyond."""
    fmt = element_type.float_format
    low = (fmt.min_exponent - fmt.mantissa_bits - 2) * _LN2
    high = (fmt.max_exponent + 1) * _LN2 * 1.01
    return _codes_of(low + words.unit(count) * (high - low), element_type)


def perfect_powers(element_type: ElementType, count: int, words: Words) -> Array:
    """Return 2^k, n^2, n^3 and n^2 * 4^k, of both signs."""
    fmt = element_type.float_format
    span = fmt.max_exponent - fmt.min_exponent + 1
    exponent = words.below(count, span) + fmt.min_exponent
    small = 1.0 + words.below(count, 64)
    options = np.stack([
        np.ldexp(1.0, exponent), small**2, small**3,
        small**2 * np.ldexp(1.0, 2 * (words.below(count, 9) - 4)),
    ])  # fmt: skip
    chosen = options[words.below(count, 4), np.arange(count)]
    return _codes_of(np.where(_signs(count, words), chosen, -chosen), element_type)


def _one_sided(element_type: ElementType, count: int, words: Words) -> Array:
    parts = (
        moderate(element_type, count, words),
        wide(element_type, count, words),
        special(element_type, count, words),
    )
    which = words.choice(count, np.array([0, 0, 0, 0, 0, 1, 1, 2]))
    return np.stack(parts)[which, np.arange(count)]


def upper(element_type: ElementType, count: int, words: Words) -> Array:
    """Return mostly moderate numbers without sign (except for formats whose NaN needs it)."""
    return _with_sign(_one_sided(element_type, count, words), element_type, negative=False)


def lower(element_type: ElementType, count: int, words: Words) -> Array:
    """Return mostly moderate numbers with sign; small values in a format without signs."""
    if not element_type.float_format.signed:
        return tiny(element_type, count, words)
    return _with_sign(_one_sided(element_type, count, words), element_type, negative=True)


def _with_sign(codes: Array, element_type: ElementType, *, negative: bool) -> Array:
    fmt = element_type.float_format
    if not fmt.signed:
        return codes
    sign_bit = np.uint64(1 << (element_type.part.bits - 1))
    magnitude = codes & ~sign_bit
    signed = magnitude | sign_bit if negative else magnitude
    return signed if fmt.has_negative_zero else np.where(magnitude == 0, codes, signed)


def axes(element_type: ElementType, count: int, words: Words) -> Array:
    """Return pairs of parts of complex numbers; one part of each is a zero of either sign."""
    one, other = moderate(element_type, count, words), wide(element_type, count, words)
    parts = np.where(_signs(count, words), one, other).reshape(-1, 2)
    which = words.below(len(parts), 2)
    zeros = encode(_signs(len(parts), words), np.zeros(len(parts), np.int64), element_type)
    parts[np.arange(len(parts)), which] = zeros
    return parts.reshape(-1)


def convertible_to(to: ElementType) -> Callable[[ElementType, int, Words], Array]:
    """Return a filler of values that convert to `to` in range (truncated, for integers)."""

    def to_integer(element_type: ElementType, count: int, words: Words) -> Array:
        whole = _log_uniform(count, min(to.bits, 62), words).astype(np.float64)
        fraction = words.choice(count, np.array([0.0, 0.5, 0.25, 0.75, 0.999]))
        values = np.where(_signs(count, words), whole, whole + fraction)
        edge = np.where(_signs(count, words), float(to.max_integer), float(to.min_integer))
        values = np.where(words.chance(count, 8), np.abs(edge), values)
        sign = _signs(count, words) & element_type.float_format.signed
        magnitude = nearest(values, element_type)[1]
        most = _largest_code_below(float(to.max_integer + 1), element_type)
        least = _largest_code_below(1.0, element_type) if to.is_unsigned else most + 1
        magnitude = np.minimum(magnitude, np.where(sign, min(least, top(element_type)), most))
        return encode(sign, magnitude, element_type)

    def to_float(element_type: ElementType, count: int, words: Words) -> Array:
        values = decode(_codes_below(count, top(to) + 1, words), to)
        sign = _signs(count, words) & to.float_format.signed
        magnitude = np.minimum(
            nearest(values, element_type)[1],
            _largest_code_up_to(to.float_format.max_finite, element_type),
        )
        return encode(sign, magnitude, element_type)

    return to_integer if to.is_integer else to_float


def _largest_code_up_to(limit: float, element_type: ElementType) -> int:
    """Return the magnitude code of the largest finite value that is not above a limit."""
    code = nearest(np.array([limit]), element_type)[1]
    return int(code[0]) - bool(decode(code, element_type)[0] > limit)


def _largest_code_below(limit: float, element_type: ElementType) -> int:
    """Return the magnitude code of the largest finite value below a limit (0 if there is none)."""
    last = _largest_code_up_to(limit, element_type)
    exact = decode(np.array([last]), element_type)[0] == limit
    return max(last - bool(exact), 0)


def midpoints_of(to: ElementType) -> Callable[[ElementType, int, Words], Array]:
    """Return a filler of midpoints between neighbours of `to` (or past its largest), +-1 ulp."""

    def filler(element_type: ElementType, count: int, words: Words) -> Array:
        last = top(to)
        codes = _codes_below(count, last + 1, words)
        codes = np.where(words.chance(count, 8), _codes_below(count, 4, words), codes)
        codes = np.where(words.chance(count, 8), last - (codes & 1), codes)
        here, before = decode(codes, to), decode(np.maximum(codes - 1, 0), to)
        after = np.where(codes < last, decode(np.minimum(codes + 1, last), to), 2 * here - before)
        magnitude = nearest(here + (after - here) / 2, element_type)[1]
        sign = _signs(count, words) & to.float_format.signed
        return encode(
            sign, step(magnitude, _draw_ulp_offsets(count, words), element_type), element_type
        )

    return filler
