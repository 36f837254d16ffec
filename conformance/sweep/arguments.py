"""The arguments of a sweep: all values of a type, all pairs, or a stratified sample.

Arguments are numbered. For a unary function of a signed floating-point type, a number stands for a
magnitude with both signs. So consecutive arguments ascend in magnitude on both sides of zero, and
show whether the function is monotonic, odd or even.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from conformance.sweep import strata
from conformance.sweep.function import Function
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, bits_dtype, from_bits

EVERYTHING = 1 << 32
"""Largest number of arguments that `--exhaustive` sweeps completely."""

ALWAYS = 1 << 16
"""Number of arguments up to which a function is always swept completely."""

_COMBINED = 4096
"""Largest number of combinations of special values in a sample."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The arguments of a function: all of them, or a sample of about `count`.

    `numbers` is the number of arguments, `is_mirrored` whether each represents both signs.
    """

    function: Function
    count: int
    seed: int
    numbers: int
    is_exhaustive: bool
    is_mirrored: bool

    @property
    def values(self) -> int:
        """The number of arguments, or of pairs of them."""
        return self.numbers * (1 + self.is_mirrored)

    def arguments(self, start: int, stop: int) -> tuple[Array, ...]:
        """Return the operands, 1-D, for the numbers from `start` to before `stop`.

        In a mirrored domain positive numbers come first, then as many negative numbers.
        """
        of = self.function.operand_type
        if not self.is_exhaustive:
            columns = _sample_of(self)
            codes = tuple(column[start:stop] for column in columns)
        else:
            codes = _all_codes(of, self.function.arity, start, stop)
        if self.is_mirrored:
            return (from_bits(_append_negatives(codes[0], of), of),)
        if of.is_complex and not self.is_exhaustive:
            pairs = [np.stack(codes[n : n + 2], axis=-1) for n in range(0, len(codes), 2)]
            return tuple(from_bits(pair, of) for pair in pairs)
        return tuple(from_bits(column, of) for column in codes)


def domain_of(function: Function, sample: int, *, exhaustive: bool, seed: int = 0) -> Domain:
    """Return the arguments of a swept function.

    Args:
        function: the function.
        sample: the largest number of arguments, if there are more than `ALWAYS` and not all are
            requested.
        exhaustive: whether all are requested, up to 2^32.
        seed: the seed of the sample.
    """
    of = function.operand_type
    bits = of.bits * function.arity
    is_mirrored = function.arity == 1 and of.is_float and of.float_format.signed
    total = 1 << bits
    if total <= (EVERYTHING if exhaustive else max(sample, ALWAYS)):
        return Domain(function, total, seed, total >> is_mirrored, True, is_mirrored)
    domain = Domain(function, sample, seed, 0, False, is_mirrored)
    return Domain(function, sample, seed, len(_sample_of(domain)[0]), False, is_mirrored)


def _append_negatives(magnitudes: Array, element_type: ElementType) -> Array:
    count = len(magnitudes)
    codes = np.empty(2 * count, magnitudes.dtype)
    codes[:count] = magnitudes
    np.bitwise_or(
        magnitudes, bits_dtype(element_type).type(1 << (element_type.bits - 1)), out=codes[count:]
    )
    return codes


def _all_codes(element_type: ElementType, arity: int, start: int, stop: int) -> tuple[Array, ...]:
    numbers = np.arange(start, stop, dtype=np.uint32 if stop <= EVERYTHING else np.uint64)
    if arity == 1:
        return (numbers.astype(bits_dtype(element_type)),)
    mask = numbers.dtype.type((1 << element_type.bits) - 1)
    right = (numbers & mask).astype(bits_dtype(element_type))
    return (numbers >> numbers.dtype.type(element_type.bits)).astype(
        bits_dtype(element_type)
    ), right


def _sample_of(domain: Domain) -> tuple[Array, ...]:
    function = domain.function
    return _sample(
        function.operand, function.arity, domain.count, domain.seed, is_mirrored=domain.is_mirrored
    )


@lru_cache(maxsize=4)
def _sample(
    operand: str, arity: int, count: int, seed: int, *, is_mirrored: bool
) -> tuple[Array, ...]:
    """Return the codes of a sample: a column for each operand, two for each complex operand."""
    element_type = ELEMENT_TYPES[operand]
    random = np.random.Generator(np.random.Philox(_key(operand, arity, count, seed)))
    if is_mirrored:
        return (strata.magnitudes(element_type, count // 2, random),)
    columns = arity * (2 if element_type.is_complex else 1)
    codes = [strata.parts(element_type.part, count, random) for _ in range(columns)]
    if columns > 1:
        _relate(codes, element_type.part, random)
        grid = np.meshgrid(*[strata.specials(element_type.part)] * columns, indexing="ij")
        combined = [column.reshape(-1) for column in grid]
        kept = random.permutation(len(combined[0]))[: min(_COMBINED, count // 4)]
        for column, special in zip(codes, combined, strict=True):
            column[: len(kept)] = special[kept]
    return tuple(codes)


def _relate(codes: list[Array], element_type: ElementType, random: np.random.Generator) -> None:
    """Set an eighth of the last column to within a few units of the first column."""
    some = random.random(len(codes[0])) < 0.125
    near = codes[0] + random.integers(-4, 5, len(codes[0])).astype(codes[0].dtype)
    if element_type.bits < bits_dtype(element_type).itemsize * 8:
        near &= codes[0].dtype.type((1 << element_type.bits) - 1)
    codes[-1][:] = np.where(some, near, codes[-1])


def _key(operand: str, arity: int, count: int, seed: int) -> int:
    text = f"{operand} {arity} {count} {seed}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
