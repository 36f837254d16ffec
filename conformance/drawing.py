"""Inputs of a program to check, drawn."""

from __future__ import annotations

import math

from conformance.arguments import InputsError
from generators.values import fill
from reference.program import Program, TensorType, ValueType
from reference.types import Array

PROFILES = ("within:-1:1", "unit", "within:-2:2")
"""Value profiles of drawn inputs, an input set each: whole numbers first, where much is exact.

They are small, so that what whole programs do with them (exponentials of sums of products) stays
within range; what other values do, `--inputs` can tell."""

_INTEGERS = ("within:0:3", "small_integers", "within:-4:12")
"""Those of integer inputs, which are mostly indices, classes and the like."""

MOST_ELEMENTS = 1 << 24
"""Elements of one input beyond which none are drawn."""

SIZES = (3, 4, 8, 2, 5, 1)
"""What unknown dimension sizes are tried to be, all alike, until a program can be evaluated."""


def is_dynamic(program: Program) -> bool:
    """Whether a parameter has a dimension of unknown size."""
    types = (parameter.type for parameter in program.main.arguments)
    return any(isinstance(of, TensorType) and not of.is_static for of in types)


def drawn(program: Program, seed: int, size: int = SIZES[0]) -> list[tuple[Array, ...]]:
    """Several input sets by the types of the parameters; a single empty one where there are none.

    Dimensions of unknown sizes get the given `size`; so do, in programs that have such, integer
    parameters of rank 0, as jax passes the sizes that its programs are polymorphic in.

    Raises:
        InputsError: for a parameter whose contents cannot be drawn.
    """
    if not program.main.arguments:
        return [()]
    types = tuple(_sized(number, a.type, size) for number, a in enumerate(program.main.arguments))
    scalar = size if is_dynamic(program) else None
    return [_set(types, number, seed, scalar) for number in range(len(PROFILES))]


def _sized(number: int, of: ValueType, size: int) -> TensorType:
    if not isinstance(of, TensorType):
        raise InputsError(f"parameter {number} is no tensor")
    shape = tuple(size if one is None else one for one in of.shape)
    if math.prod(shape) > MOST_ELEMENTS:
        raise InputsError(f"parameter {number} is {of}: too large to be drawn")
    return TensorType(shape, of.stored)


def _set(
    types: tuple[TensorType, ...], number: int, seed: int, scalar: int | None
) -> tuple[Array, ...]:
    arrays: list[Array] = []
    for position, of in enumerate(types):
        element = of.element
        profile = PROFILES[number]
        if element.is_boolean:
            profile = "bits"
        elif element.is_integer and scalar is not None and of.rank == 0 and element.bits >= 8:
            profile = f"values:{scalar}"
        elif element.is_integer:
            low_unsigned = "within:0:12" if element.is_unsigned else _INTEGERS[number]
            profile = "within:0:3" if number == 0 or element.bits < 8 else low_unsigned
            profile = "within:0:1" if element.bits < 4 else profile
        arrays.append(fill(of, profile, seed + (number << 32) + (position << 64)))
    return tuple(arrays)
