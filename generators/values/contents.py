"""The contents of input tensors: value profiles, filled by numpy from a profile's name and a seed.

A profile says where in a type's range the elements lie: special values, the neighbours of rounding
ties, subnormals, uniform bits, small integers, and so on. Elements of a complex type are filled
part by part. A value that a format lacks is omitted, not replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from generators.case.case import InputRecipe
from generators.values import float_profiles, integer_profiles
from generators.values.codes import Words, codes_to_array, encode, top
from generators.values.shaped_values import fill_shaped, is_shaped
from generators.values.undecided import UNDECIDED, undecided_at
from reference.ir.program import Program, QuantizedType, TensorType
from reference.ir.types import FLOATS, INTEGERS, Array, ElementType, bits_dtype, from_bits, to_bits
from reference.ops.quantization import quantize

Filler = Callable[[ElementType, int, Words], Array]
"""A function filler(element_type, count, words): the codes (uint64) of `count` elements
(or parts).
"""

CORRELATIONS = ("independent", "equal", "negated", "one_ulp")


@dataclass(frozen=True, slots=True)
class Profile:
    """A named distribution of values, with fillers for floating-point numbers and integers.

    `floats` serves floating-point types and the parts of complex types. A filler is None if the
    profile has no meaning for the kind; `i1` only has the profile "bits". A profile that is not
    `general` serves some ops only.
    """

    name: str
    meaning: str
    floats: Filler | None = None
    integers: Filler | None = None
    complex_only: bool = False
    general: bool = True


def _profiles() -> dict[str, Profile]:
    f, i = float_profiles, integer_profiles
    rows = [
        Profile("small_integers", "integers from -8 to 8", f.small_integers, i.small_integers),
        Profile("special", "zeros, ones, extremes, infinities, NaNs", f.special, i.special),
        Profile(
            "each_special",
            "zeros, ones, extremes, infinities, NaNs, each before any is repeated",
            f.each_special,
            i.each_special,
            general=False,
        ),
        Profile("mixed", "half special, half moderate", f.mixed),
        Profile("unit", "uniform in [-1, 1]", f.unit),
        Profile("moderate", "of ordinary size", f.moderate, i.moderate),
        Profile("near_one", "within a few to many ulp of 1 and -1", f.near_one),
        Profile("wide", "finite, with uniform exponents", f.wide, i.wide),
        Profile("positive", "finite and not negative, with uniform exponents", f.positive),
        Profile("tiny", "up to 1, with uniform exponents", f.tiny),
        Profile("bits", "uniform bits", f.bits, i.bits),
        Profile("subnormal", "subnormal numbers and their neighbours", f.subnormal),
        Profile("ties", "n + 1/2 and its two neighbours", f.ties),
        Profile("midpoints", "one bit past a shorter significand, or next to it", f.midpoints),
        Profile("large", "within three binades of overflow", f.large),
        Profile("trig", "within two ulp of multiples of pi / 2", f.trig),
        Profile(
            "gamma_edges",
            "within two ulp of zeros and poles of gamma functions",
            f.gamma_edges,
            general=False,
        ),
        Profile("exp_domain", "where the exponential neither over- nor underflows", f.exp_domain),
        Profile("perfect_powers", "powers of two, squares and cubes", f.perfect_powers),
        Profile("lower", "not above the middle of the range", f.lower, i.lower),
        Profile("upper", "not below the middle of the range", f.upper, i.upper),
        Profile("axes", "one part zero, of either sign", f.axes, complex_only=True),
        Profile("nonzero", "not 0, with a uniform number of bits", integers=i.nonzero),
        Profile("shift_amounts", "mostly 0 to the width less 1", integers=i.shift_amounts),
        Profile("small_exponents", "0 to 7", integers=i.small_exponents),
    ]
    for to in INTEGERS + FLOATS:
        meaning = f"values that {to.name} can hold"
        rows.append(
            Profile(
                f"range_{to.name}",
                meaning,
                f.convertible_to(to),
                i.convertible_to(to),
                general=False,
            )
        )
    for to in FLOATS:
        meaning = f"midpoints between neighbours in {to.name}, or next to one"
        floats = f.midpoints_of(to) if to.bits < 64 else None  # no format is wider
        rows.append(Profile(f"ties_{to.name}", meaning, floats, i.midpoints_of(to), general=False))
    rows += [
        Profile(
            f"undecided_{op}",
            f"complex numbers at which {op} needs certified arithmetic",
            undecided_at(op),
            complex_only=True,
            general=False,
        )
        for op in UNDECIDED
    ]
    return {row.name: row for row in rows}


PROFILES: dict[str, Profile] = _profiles()
"""Every value profile by name; range_T and ties_T serve conversions to T, each_special elementwise
ops, undecided_OP that op."""


@cache
def profiles_of(element_type: ElementType) -> tuple[str, ...]:
    """Return the general profiles of a type (not those made for some ops), simplest first."""
    general = [row for row in PROFILES.values() if row.general]
    if element_type.is_boolean:
        return ("bits",)
    if element_type.is_integer:
        return tuple(row.name for row in general if row.integers)
    return tuple(
        row.name for row in general if row.floats and element_type.is_complex >= row.complex_only
    )


def fill(type: TensorType, profile: str, seed: int) -> Array:  # noqa: A002 - the spec's word
    """Return an array of a static tensor type, with elements drawn from a profile.

    The same (type, profile, seed) always gives the same bits; `seed` is in [0, 2^128).

    Raises:
        KeyError: for an unknown profile.
        ValueError: for a profile without meaning for the element type.
    """
    if isinstance(type.element_type, QuantizedType):
        return fill_codes(type.element_type, type.static_shape, profile, seed)
    of, shape = type.element, type.static_shape
    if is_shaped(profile):
        return fill_shaped(of, shape, profile, seed)
    row, words, count = PROFILES[profile], Words(seed), math.prod(shape)
    if of.is_boolean:
        if profile != "bits":
            raise ValueError(f"profile {profile} has no values of {of}")
        return (words.words(count) >> np.uint64(63)).astype(np.bool_).reshape(shape)
    filler = row.integers if of.is_integer else row.floats
    if filler is None or of.is_complex < row.complex_only:
        raise ValueError(f"profile {profile} has no values of {of}")
    if not of.is_complex:
        return codes_to_array(filler(of, count, words), of).reshape(shape)
    codes = filler(of, 2 * count, words).astype(bits_dtype(of))
    return from_bits(codes.reshape(*shape, 2), of)


def fill_codes(
    quantized_type: QuantizedType, shape: tuple[int, ...], profile: str, seed: int
) -> Array:
    """Return codes of a quantized type: any ("codes"), or the nearest to a profile's numbers."""
    if profile == "codes":
        count = quantized_type.storage_max - quantized_type.storage_min + 1
        drawn = Words(seed).below(math.prod(shape), count) + quantized_type.storage_min
        return drawn.reshape(shape).astype(quantized_type.storage_type.storage)
    numbers = fill(TensorType(shape, quantized_type.expressed_type), profile, seed)
    axis = quantized_type.quantization_dimension
    if axis is not None and axis >= len(shape):  # one element, repeated
        first = quantized_type.scales[:1], quantized_type.zero_points[:1]
        quantized_type = replace(
            quantized_type, scales=first[0], zero_points=first[1], quantization_dimension=None
        )
    return quantize(numbers, quantized_type)


def _shift_codes(codes: Array, by: Array, element_type: ElementType) -> Array:
    """Return float codes moved by `by` ulp; non-finite codes are unchanged."""
    sign_bit = (
        np.uint64(1 << (element_type.part.bits - 1))
        if element_type.float_format.signed
        else np.uint64(0)
    )
    magnitude = (codes & ~sign_bit).astype(np.int64)
    moved = encode(
        (codes & sign_bit) != 0, np.clip(magnitude + by, 0, top(element_type)), element_type
    )
    return np.where(magnitude <= top(element_type), moved, codes)


def _negate_codes(codes: Array, element_type: ElementType) -> Array:
    """Return float codes with the opposite sign, if the format has it."""
    fmt = element_type.float_format
    if not fmt.signed:
        return codes
    sign_bit = np.uint64(1 << (element_type.part.bits - 1))
    if fmt.has_negative_zero:
        return codes ^ sign_bit
    return np.where((codes & ~sign_bit) == 0, codes, codes ^ sign_bit)


def _clamp_codes(codes: Array, quantized_type: QuantizedType, shape: tuple[int, ...]) -> Array:
    """Return codes clamped to the range of their type."""
    inside = np.clip(codes.astype(np.int64), quantized_type.storage_min, quantized_type.storage_max)
    return inside.astype(quantized_type.storage_type.storage).reshape(shape)


def correlate(first: Array, type: TensorType, correlation: str, seed: int) -> Array:  # noqa: A002
    """Return an operand related to `first`, of the same type: "equal", "negated" or "one_ulp".

    One ulp is one unit in the last place up or down (in a complex number, at most one in each
    part); for integers 1, wrapping around. An element without a negative, such as a NaN of an FNUZ
    format, is repeated.

    Raises:
        ValueError: for any other correlation.
    """
    if correlation == "equal":
        return first.copy()
    if correlation not in ("negated", "one_ulp"):
        raise ValueError(f"unknown correlation {correlation!r}; known: {', '.join(CORRELATIONS)}")
    element_type, bits = type.stored, to_bits(first)
    if element_type.is_boolean:
        return np.asarray(np.logical_not(first))  # rank 0 stays an array
    codes = bits.reshape(-1).astype(np.uint64)
    steps = Words(seed).below(codes.size, 3 if element_type.is_complex else 2)
    steps = steps - 1 if element_type.is_complex else 2 * steps - 1
    if element_type.is_integer:
        moved = np.uint64(0) - codes if correlation == "negated" else codes + steps.view(np.uint64)
        if isinstance(type.element_type, QuantizedType):
            return _clamp_codes(
                from_bits(moved.astype(bits_dtype(element_type)), element_type),
                type.element_type,
                first.shape,
            )
    elif correlation == "negated":
        moved = _negate_codes(codes, element_type)
    else:
        moved = _shift_codes(codes, steps, element_type)
    return from_bits(moved.astype(bits_dtype(element_type)).reshape(bits.shape), element_type)


def is_stated(profile: str) -> bool:
    """Return whether a profile is a list of numbers that operands must have: sizes of a result."""
    return profile.startswith("values:")


def materialise(program: Program, recipe: InputRecipe) -> tuple[Array, ...]:
    """Return the arguments of main that a recipe describes, one array for each parameter.

    With a correlation, each parameter after the first of its type is related to the first, unless
    its numbers are given. The arguments of a program of several processes are concatenated by
    process, each with its own seed.
    """
    seeds = (recipe.seed + (number << 96) for number in range(program.process_count))
    return tuple(
        array for seed in seeds for array in _arguments(program, replace(recipe, seed=seed))
    )


def _arguments(program: Program, recipe: InputRecipe) -> tuple[Array, ...]:
    """Return the arguments of main in one process."""
    first: dict[TensorType, Array] = {}
    arrays: list[Array] = []
    for index, parameter in enumerate(program.main.arguments):
        of, seed = parameter.type, recipe.seed + (index << 64)
        assert isinstance(of, TensorType)
        profile = recipe.profiles[index]
        if recipe.correlation != "independent" and of in first and not is_stated(profile):
            arrays.append(correlate(first[of], of, recipe.correlation, seed))
        else:
            arrays.append(fill(of, profile, seed))
            first.setdefault(of, arrays[-1])
    return tuple(arrays)
