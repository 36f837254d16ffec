"""Running one op on every, or on many, of the codes of a type: shared helpers of tests of ops."""

import operator
from fractions import Fraction
from functools import cache

import numpy as np

from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, TensorType, Value, single_op
from reference.ir.types import FLOATS, Array, ElementType, element_type_of, from_bits, to_bits
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.exact import INF, NAN, NEGATIVE_INF, Number, is_negative, numbers

REAL_TYPES = list(FLOATS)
"""All floating-point types, for parametrisation."""

DIRECTIONS = {
    "EQ": operator.eq, "NE": operator.ne, "GE": operator.ge,
    "GT": operator.gt, "LE": operator.le, "LT": operator.lt,
}  # fmt: skip


def run(
    name: str, *operands: Array, to: ElementType | None = None, **given: Attribute
) -> tuple[Array, Array]:
    """Return an op's result, and the mask of its unspecified elements."""
    types = [TensorType(array.shape, element_type_of(array)) for array in operands]
    values = tuple(Value(f"v{index}", of) for index, of in enumerate(types))
    shape = max((array.shape for array in operands), key=len)
    of = TensorType(shape, to or types[-1].element)
    program = single_op(name, values, (of,), given)
    (result,) = evaluate(program, operands)
    operation = program.main.body.operations[0]
    masks = unspecified_elements(operation, operands, result)
    assert all(label and mask.shape == result.shape for label, mask in masks)
    mask = np.zeros(result.shape, np.bool_)
    for _, one in masks:
        mask |= one
    return result, mask


def codes(of: ElementType) -> Array:
    """Return codes of a type: all of them up to eight bits, otherwise the edges and a random
    sample.
    """
    if of.bits <= 8:
        return from_bits(np.arange(1 << of.bits, dtype=np.uint8), of)
    top = 1 << of.bits
    edges = [0, 1, 2, 3, top // 2, top // 2 + 1, top // 2 - 1, top - 1, top - 2]
    if of.is_float:
        unit = 1 << of.float_format.mantissa_bits
        one = of.float_format.bias * unit
        infinity = ((1 << of.float_format.exponent_bits) - 1) * unit
        near = (unit - 1, unit, one, one + 1, one + unit // 2, infinity - 1, infinity)
        edges += [code + sign for code in near for sign in (0, top // 2)]
    random = np.random.Generator(np.random.Philox(of.bits))
    drawn = random.integers(0, 1 << 63, 40, dtype=np.uint64) * np.uint64(2) % np.uint64(top - 1)
    small = random.integers(0, 100, 10, dtype=np.uint64)
    bits = np.array([*edges, *drawn.tolist(), *small.tolist()], dtype=np.uint64)
    return from_bits(bits.astype(f"uint{of.bits}"), of)


@cache
def pairs(of: ElementType) -> tuple[Array, Array]:
    """Return all pairs of a small type's codes; of wider types, all codes with some codes."""
    left = codes(of)
    right = left if of.bits < 8 else left[:: 17 if of.bits == 8 else 3]
    lhs, rhs = np.repeat(left, len(right)), np.tile(right, len(left))
    return lhs, rhs


@cache
def number_pairs(of: ElementType) -> list[tuple[Number, Number]]:
    """Return the values of all pairs of a floating-point type's codes."""
    lhs, rhs = pairs(of)
    return list(zip(numbers(lhs, of), numbers(rhs, of), strict=True))


@cache
def ordered_pairs(of: ElementType) -> list[tuple[Fraction, Fraction] | None]:
    """Return the pairs' values, infinities as very large numbers; None where either is NaN."""
    return [
        None if NAN in pair else (order_key(pair[0])[0], order_key(pair[1])[0])
        for pair in number_pairs(of)
    ]


def order_key(x: Number) -> tuple[Fraction, int]:
    """Return a key by which numbers that are not NaN sort, -0 before +0."""
    value = {INF: Fraction(2) ** 2000, NEGATIVE_INF: -(Fraction(2) ** 2000)}.get(str(x))
    return (value if value is not None else Fraction(x)), -is_negative(x)


def samples(of: ElementType) -> Array:
    """Return a few elements of any type."""
    if of.is_complex:
        part = to_bits(codes(of.part))
        return from_bits(np.stack([part, part[::-1]], axis=-1), of)
    return codes(of)
