"""Contents that depend on the whole array: given values, ranges, permutations, kinds of matrix.

These profiles are written `name` or `name:arguments`, with colons between the arguments. They have
a meaning for one op rather than for a type: start indices in range, a matrix with a Cholesky
factor. Numbers are integers small enough for every element type that the op takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from generators.values.codes import Words
from reference.ir.types import Array, ElementType
from reference.numerics.rounding import round_integers, round_to

ShapedFiller = Callable[[ElementType, tuple[int, ...], Words, list[str]], Array]
"""A function filler(element type, shape, words, arguments): the array."""


def cast(numbers: Array, element_type: ElementType) -> Array:
    """Return int64, float64 or complex128 numbers as an array of an element type.

    Integers wrap, floats round to the nearest; imaginary parts are kept in complex types only.
    """
    if element_type.is_complex:
        return np.asarray(numbers.astype(element_type.storage))
    if element_type.is_boolean:
        return np.asarray(numbers != 0)
    if element_type.is_integer:
        low = np.asarray(np.real(numbers)).astype(np.int64)
        modulus = 1 << element_type.bits
        if element_type.bits < 64:
            low = (low - element_type.min_integer) % modulus + element_type.min_integer
        return low.astype(element_type.storage)
    if numbers.dtype.kind == "i":
        return round_integers(numbers, element_type)
    return round_to(np.real(numbers).astype(np.float64), element_type)


def _values(element_type: ElementType, shape: tuple[int, ...], _: Words, given: list[str]) -> Array:
    numbers = np.array([int(text) for text in given[0].split(",") if text], np.int64)
    every = np.broadcast_to(numbers, (math.prod(shape),))
    return cast(every, element_type).reshape(shape)


def _fill_within(
    element_type: ElementType, shape: tuple[int, ...], words: Words, given: list[str]
) -> Array:
    low, high = int(given[0]), int(given[1])
    drawn = words.below(math.prod(shape), high - low + 1) + low
    return cast(drawn, element_type).reshape(shape)


def _permutation(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    return cast(np.argsort(words.words(math.prod(shape)), kind="stable"), element_type).reshape(
        shape
    )


def _small_matrix(element_type: ElementType, shape: tuple[int, ...], words: Words) -> Array:
    count = math.prod(shape)
    real = (words.below(count, 17) - 8).astype(np.float64) / 8
    imag = (words.below(count, 17) - 8).astype(np.float64) / 8
    return (real + 1j * imag if element_type.is_complex else real).reshape(shape)


def _definite(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return A A^H + I of a small random A: Hermitian, positive definite, of moderate condition."""
    matrix = _small_matrix(element_type, shape, words)
    size = shape[-1]
    return cast(matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + np.eye(size), element_type)


def _triangular_numbers(element_type: ElementType, shape: tuple[int, ...], words: Words) -> Array:
    matrix = _small_matrix(element_type, shape, words)
    sign = 1 - 2 * words.below(math.prod(shape[:-1]), 2).astype(np.float64)
    diagonal = (np.abs(matrix).sum(axis=-1) + 1) * sign.reshape(shape[:-1])
    return np.where(np.eye(*shape[-2:], dtype=bool), diagonal[..., None], matrix)


def _triangular(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return a matrix whose triangles have a dominant diagonal; both are filled."""
    return cast(_triangular_numbers(element_type, shape, words), element_type)


def _powers(shape: tuple[int, ...], words: Words, element_type: ElementType) -> Array:
    """Return powers of two of moderate exponents, a power for each row of the matrices."""
    reach = min(6, element_type.float_format.max_exponent // 8 + 1)
    exponents = words.below(math.prod(shape[:-1]), 2 * reach + 1) - reach
    return np.ldexp(1.0, exponents).reshape(shape[:-1])


def _gram(element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]) -> Array:
    """Return L L^H for lower triangular L of small integers with powers of two on the diagonal."""
    count = math.prod(shape)
    numbers = (words.below(count, 5) - 2) + 1j * element_type.is_complex * (
        words.below(count, 5) - 2
    )
    below = np.tril(numbers.reshape(shape) * (words.below(count, 2).reshape(shape) != 0), -1)
    diagonal = np.ldexp(1.0, words.below(math.prod(shape[:-1]), 2)).reshape(shape[:-1])
    factor = below + np.eye(shape[-1]) * diagonal[..., None]
    return cast(factor @ np.conj(np.swapaxes(factor, -1, -2)), element_type)


def _fill_graded(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return D A D for a definite A and a diagonal D of powers of two: very different
    magnitudes."""
    matrix = _small_matrix(element_type, shape, words)
    definite = matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + np.eye(shape[-1])
    scale = _powers(shape, words, element_type)
    return cast(scale[..., :, None] * definite * scale[..., None, :], element_type)


def _hilbert(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return 1 / (i + j + k) with a small k: definite, but nearly singular for large sizes."""
    index = np.arange(shape[-1])
    first = words.below(1, 4)[0] + 1
    return cast(np.broadcast_to(1.0 / (index[:, None] + index + first), shape).copy(), element_type)


def _graded_triangular(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return a triangular matrix, its rows scaled by powers of two."""
    matrix = _triangular_numbers(element_type, shape, words)
    return cast(_powers(shape, words, element_type)[..., None] * matrix, element_type)


def _unit_diagonal(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return small numbers with a diagonal of 1; both triangles are filled."""
    matrix = _small_matrix(element_type, shape, words)
    return cast(np.where(np.eye(*shape[-2:], dtype=bool), 1.0, matrix), element_type)


def _lower_triangular(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return small numbers with zeros above the diagonal."""
    return cast(np.tril(_small_matrix(element_type, shape, words)), element_type)


def _spectrum(
    element_type: ElementType, shape: tuple[int, ...], words: Words, given: list[str]
) -> Array:
    """Return the Fourier transform of real numbers over dimensions of the given sizes."""
    sizes = tuple(int(text) for text in given[0].split(","))
    real = words.below(math.prod(shape[: -len(sizes)] + sizes), 17) - 8
    full = real.reshape(shape[: -len(sizes)] + sizes).astype(np.float64)
    if not full.size:
        return np.zeros(shape, element_type.storage)
    return cast(np.fft.rfftn(full, axes=range(-len(sizes), 0)), element_type)


def _exponents(
    element_type: ElementType, shape: tuple[int, ...], words: Words, given: list[str]
) -> Array:
    """Return numbers of both signs, uniform exponents in a range, and significands of three
    bits."""
    fmt, count = element_type.float_format, math.prod(shape)
    low, high = (max(fmt.min_exponent, min(int(text), fmt.max_exponent - 1)) for text in given)

    def numbers() -> Array:
        size = np.ldexp(1 + words.below(count, 4) / 4, words.below(count, high - low + 1) + low)
        return np.where(words.chance(count, 2), size, -size)

    drawn = numbers() + 1j * numbers() if element_type.is_complex else numbers()
    return cast(drawn.reshape(shape), element_type)


def _shares(element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]) -> Array:
    """Return multiples of 1/64 strictly between 0 and 1."""
    return cast((words.below(math.prod(shape), 63) + 1) / 64, element_type).reshape(shape)


def _powers_of_two(
    element_type: ElementType, shape: tuple[int, ...], words: Words, given: list[str]
) -> Array:
    """Return powers of two with uniform exponents in a range clamped to the type's."""
    fmt = element_type.float_format
    low, high = (max(fmt.min_exponent, min(int(text), fmt.max_exponent)) for text in given)
    exponents = words.below(math.prod(shape), high - low + 1) + low
    return cast(np.ldexp(1.0, exponents).reshape(shape), element_type)


def _lone_one(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return along the last dimension a 1, then numbers about as large as its rounding error."""
    small = words.unit(math.prod(shape)) * 2.0 ** (1 - element_type.float_format.precision)
    first = np.arange(shape[-1] if shape else 1) == 0
    return cast(np.where(first, 1.0, small.reshape(shape)).reshape(shape), element_type)


def _cancelling_numbers(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return along the last dimension numbers up to 16, 0.5 in the middle, then their negatives."""
    numbers = np.ldexp(words.unit(math.prod(shape)), 4).reshape(shape or (1,))
    place = np.arange(numbers.shape[-1])
    numbers = np.where(place < place[::-1], numbers, -numbers[..., ::-1])
    return cast(np.where(place == place[::-1], 0.5, numbers).reshape(shape), element_type)


def _signed_zeros(element_type: ElementType, shape: tuple[int, ...], negative: Array) -> Array:
    """Return zeros with these signs, [elements, parts]; +0 in a type without -0."""
    zeros = np.where(negative, -0.0, 0.0)
    if element_type.is_complex:
        return cast(zeros.view(np.complex128).reshape(shape), element_type)
    return cast(zeros[:, 0].reshape(shape), element_type)


def _negative_zeros(
    element_type: ElementType, shape: tuple[int, ...], _: Words, __: list[str]
) -> Array:
    """Return -0 only, in both parts of complex numbers."""
    return _signed_zeros(element_type, shape, np.ones((math.prod(shape), 2), np.bool_))


def _mixed_zeros(
    element_type: ElementType, shape: tuple[int, ...], words: Words, _: list[str]
) -> Array:
    """Return zeros, three in four of them -0."""
    count = math.prod(shape)
    return _signed_zeros(element_type, shape, ~words.chance(2 * count, 4).reshape(count, 2))


SHAPED: dict[str, ShapedFiller] = {
    "values": _values,
    "within": _fill_within,
    "exponents": _exponents,
    "powers": _powers_of_two,
    "shares": _shares,
    "lone_one": _lone_one,
    "cancelling": _cancelling_numbers,
    "negative_zeros": _negative_zeros,
    "mixed_zeros": _mixed_zeros,
    "permutation": _permutation,
    "definite": _definite,
    "triangular": _triangular,
    "gram": _gram,
    "graded": _fill_graded,
    "hilbert": _hilbert,
    "graded_triangular": _graded_triangular,
    "unit_diagonal": _unit_diagonal,
    "lower_triangular": _lower_triangular,
    "spectrum": _spectrum,
}
"""Fillers by name: `values:3,4,5` (these integers, row-major; a single integer everywhere),
`within:LOW:HIGH` (uniform integers, both ends included), `exponents:LOW:HIGH`, `powers:LOW:HIGH`
(of two), `shares` (of a whole), `lone_one` and `cancelling` (terms of sums: of a wide range, next
to a large term, in pairs that cancel), `negative_zeros` and `mixed_zeros` (-0 only, zeros of either
sign), `permutation` (of 0 to the size less 1), `definite`, `gram`, `graded`, `hilbert` (Hermitian
matrices in the last two dimensions, definite unless the type is too narrow), `triangular`,
`graded_triangular`, `unit_diagonal` (both triangles filled), `lower_triangular`, `spectrum:4,6`
(the Fourier transform of real numbers, their last dimensions of these sizes)."""


def is_shaped(profile: str) -> bool:
    """Return whether a profile describes the whole array."""
    return profile.partition(":")[0] in SHAPED


def fill_shaped(
    element_type: ElementType, shape: tuple[int, ...], profile: str, seed: int
) -> Array:
    """Return an array of a shape with the contents that the profile describes.

    Raises:
        KeyError: for an unknown profile.
    """
    name, _, arguments = profile.partition(":")
    return SHAPED[name](element_type, shape, Words(seed), arguments.split(":"))
