"""Random numbers: distributions and the bit generators."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reference.ir.constraints import require
from reference.ir.notation import admit
from reference.ir.op import (
    FIRST_OPERAND,
    Dialect,
    Op,
    QuantizedUse,
    Rounding,
    Structure,
    ValuePosition,
)
from reference.ir.program import TensorType
from reference.ir.types import (
    BITS,
    ELEMENT_TYPES,
    FLOATS,
    INTEGERS,
    Array,
    ElementType,
    Kind,
    bits_dtype,
    element_type_of,
    from_bits,
    to_bits,
)
from reference.numerics.arithmetic import quiet
from reference.numerics.counter_based import philox_bits, threefry_bits
from reference.numerics.products import to_wide_type
from reference.numerics.rounding import next_down, round_to

RNG_DISTRIBUTIONS = ("UNIFORM", "NORMAL")
"""The values of `rng_distribution`."""

RNG_ALGORITHMS = ("DEFAULT", "THREE_FRY", "PHILOX")
"""The values of `rng_algorithm`."""

STATE_SIZES = {"THREE_FRY": (2,), "PHILOX": (2, 3)}
"""The number of words of the state; for DEFAULT it is implementation-defined."""

_REAL = admit(Kind.BOOLEAN, Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT)
_NUMBER = admit(Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT)
_WORD, _INDEX = ELEMENT_TYPES["ui64"], ELEMENT_TYPES["si64"]


def rng_type(
    a: TensorType, b: TensorType, shape: TensorType, *, rng_distribution: str, result: TensorType
) -> TensorType:
    """Return the result type of `rng`, which the program states.

    `shape` is an operand whose value the program knows; its type only allows a check of the number
    of sizes.

    Raises:
        ConstraintViolation: I1 to I4, C1 (element types), C2 (NORMAL of other than floating-point
            numbers), C3 (shape).
    """
    require("I1", a in _REAL and a.rank == 0, a)
    require("I2", b in _REAL and b.rank == 0, b)
    vector = require("I3", shape.rank == 1 and shape.element_type == _INDEX, shape)
    known = require("I4", rng_distribution in RNG_DISTRIBUTIONS, rng_distribution)
    same = a.element_type == b.element_type == result.element_type
    require("C1", same, f"{a}, {b}, {result}")
    if known and rng_distribution == "NORMAL":
        require("C2", isinstance(a.element_type, ElementType) and a.element.is_float, a)
    if vector:
        fits = shape.shape[0] is None or shape.shape[0] == result.rank
        require("C3", fits, f"{shape}, {result}")
    return result


def rng_bit_generator_type(
    initial_state: TensorType, *, rng_algorithm: str, results: tuple[TensorType, ...]
) -> tuple[TensorType, ...]:
    """Return the result types of `rng_bit_generator`, which the program states.

    Raises:
        ConstraintViolation: I1 (unknown algorithm), I2 (state not of rank 1 and ui64), "result"
            (not a state and numbers), C1 (types of the states), C2 (size of the state).
    """
    known = require("I1", rng_algorithm in RNG_ALGORITHMS, rng_algorithm)
    vector = initial_state.rank == 1 and initial_state.element_type == _WORD
    require("I2", vector, initial_state)
    two = len(results) == 2 and results[1] in _NUMBER
    if require("result", two, results):
        require("C1", results[0] == initial_state, f"{initial_state}, {results[0]}")
    if known and rng_algorithm != "DEFAULT" and initial_state.is_static:
        size = int(np.prod(initial_state.static_shape))
        require("C2", size in STATE_SIZES[rng_algorithm], initial_state)
    return results


@quiet
def rng(a: Array, b: Array, shape: Array, *, rng_distribution: str, result: TensorType) -> Array:
    """Return random numbers, a function of the operands: Philox seeded with their bits.

    Args:
        a: the minimum of UNIFORM, the mean of NORMAL; a scalar.
        b: the exclusive maximum of UNIFORM, the standard deviation of NORMAL; a scalar.
        shape: the result's shape.
        rng_distribution: UNIFORM or NORMAL.
        result: the result's type.

    Raises:
        ValueError: if `shape` is not the shape of the result's type (C3).
    """
    sizes = tuple(int(size) for size in shape)
    if sizes != result.static_shape:
        raise ValueError(f"shape {sizes} given for {result}")
    element_type = element_type_of(a)
    state = np.array([_seed(a, b), 0], np.uint64)
    if rng_distribution == "NORMAL":  # the Box-Muller transform
        _, bits = philox_bits(state, (2, *sizes), 64)
        first, second = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
        radius = np.sqrt(-2 * np.log(1 - first))
        return round_to(
            np.asarray(to_wide_type(a) + to_wide_type(b) * radius * np.cos(2 * np.pi * second)),
            element_type,
        )
    _, bits = philox_bits(state, sizes, 64)
    return _uniform_floats(a, b, bits) if element_type.is_float else _uniform_integers(a, b, bits)


def _seed(a: Array, b: Array) -> int:
    """Return a hash of the bits of two scalars."""
    return (int(to_bits(a)) * 0x9E3779B97F4A7C15 ^ int(to_bits(b))) & (1 << 64) - 1


def _uniform_floats(a: Array, b: Array, bits: Array) -> Array:
    element_type = element_type_of(a)
    low, high = to_wide_type(a), to_wide_type(b)
    part = (bits >> np.uint64(11)).astype(low.dtype) * low.dtype.type(2.0**-53)
    found = round_to(np.asarray(low * (1 - part) + high * part), element_type)
    below = np.broadcast_to(next_down(b), found.shape)
    return np.where(to_wide_type(found) < high, found, below).astype(element_type.storage)


def _uniform_integers(a: Array, b: Array, bits: Array) -> Array:
    """Return a plus remainders modulo b - a: uniform up to (b - a) / 2^64."""
    element_type = element_type_of(a)
    low, high = int(a), int(b)
    offset = bits % np.uint64(high - low) if high > low else np.zeros_like(bits)
    codes = offset + np.uint64(low & (1 << 64) - 1)
    if element_type.is_boolean:
        return np.asarray(codes != 0)
    return from_bits(
        (codes & np.uint64((1 << element_type.bits) - 1)).astype(bits_dtype(element_type)),
        element_type,
    )


@quiet
def rng_bit_generator(
    initial_state: Array, *, rng_algorithm: str, results: tuple[TensorType, ...]
) -> tuple[Array, Array]:
    """Return the new state, and uniform random bits of the output's type.

    THREE_FRY and PHILOX are in reference/numerics/counter_based.py. DEFAULT is PHILOX on a state of
    any size: if it has neither 2 nor 3 words, the words are combined into the key.
    """
    output = results[1]
    of = output.element
    generate = threefry_bits if rng_algorithm == "THREE_FRY" else philox_bits
    state = initial_state
    if len(state) not in STATE_SIZES["PHILOX"]:
        state = np.array([np.bitwise_xor.reduce(state), 0], np.uint64)
    after, words = generate(state, output.static_shape, of.bits)
    mask = words.dtype.type((1 << of.bits) - 1)
    found: Any = from_bits(np.asarray(words & mask).astype(bits_dtype(of)), of)
    return (after if state is initial_state else initial_state.copy()), found


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, principal=FIRST_OPERAND,
    quantized=QuantizedUse.REFUSES,
    structure=Structure.COMPUTES, lifts=False, needs_result=True,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="rng", is_random=True, type_function=rng_type, evaluate=rng,
        operands=("a", "b", "shape"),
        attributes=("rng_distribution",), constraints=("C1", "C2", "C3"),
        inputs=("I1", "I2", "I3", "I4"), element_types=BITS + FLOATS,
        rounding=Rounding.APPROXIMATES,
    ),
    _op(
        name="rng_bit_generator", type_function=rng_bit_generator_type, evaluate=rng_bit_generator,
        operands=("initial_state",), attributes=("rng_algorithm",), constraints=("C1", "C2"),
        inputs=("I1", "I2"), element_types=INTEGERS + FLOATS,
        principal=ValuePosition(of_results=True, number=1), rounding=Rounding.EXACT, several=True,
        expensive=True,
    ),
)  # fmt: skip
"""The ops of this family."""
