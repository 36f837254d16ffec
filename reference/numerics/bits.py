"""Bitwise and logical ops. Every type has its own number of bits: si2 has two."""

from __future__ import annotations

import numpy as np

from reference.ir.types import Array, element_type_of, from_bits, to_bits
from reference.numerics.arithmetic import quiet, wrap_integers


def and_(lhs: Array, rhs: Array) -> Array:
    """Return the bitwise AND; logical AND of booleans."""
    return from_bits(to_bits(lhs) & to_bits(rhs), element_type_of(lhs))


def or_(lhs: Array, rhs: Array) -> Array:
    """Return the bitwise OR; logical OR of booleans."""
    return from_bits(to_bits(lhs) | to_bits(rhs), element_type_of(lhs))


def xor(lhs: Array, rhs: Array) -> Array:
    """Return the bitwise XOR; logical XOR of booleans."""
    return from_bits(to_bits(lhs) ^ to_bits(rhs), element_type_of(lhs))


def not_(operand: Array) -> Array:
    """Return the bitwise NOT; logical NOT of booleans."""
    return from_bits(~to_bits(operand), element_type_of(operand))


def popcnt(operand: Array) -> Array:
    """Return the number of set bits (modulo 2^bits: the two bits of an si2 count as -2)."""
    return wrap_integers(np.bitwise_count(to_bits(operand)), element_type_of(operand))


def count_leading_zeros(operand: Array) -> Array:
    """Return the number of zero bits above the highest set bit, within the type's own width."""
    element_type = element_type_of(operand)
    bits = to_bits(operand)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < element_type.bits:
            bits = bits | bits >> bits.dtype.type(shift)  # set all bits below the highest set bit
    return wrap_integers(element_type.bits - np.bitwise_count(bits), element_type)


def _shift(rhs: Array) -> tuple[Array, Array]:
    """Return the shift amounts as unsigned numbers within the width, and a mask of larger
    amounts."""
    amount = to_bits(rhs)
    beyond = amount >= element_type_of(rhs).bits
    return np.where(beyond, np.zeros_like(amount), amount), beyond


def shift_left(lhs: Array, rhs: Array) -> Array:
    """Return bits shifted up by `rhs` positions; 0 for the width or more (or negative amounts)."""
    amount, beyond = _shift(rhs)
    moved = to_bits(lhs) << amount
    return from_bits(np.where(beyond, np.zeros_like(moved), moved), element_type_of(lhs))


def shift_right_logical(lhs: Array, rhs: Array) -> Array:
    """Return bits shifted down, filled with zeros; 0 for the width or more."""
    amount, beyond = _shift(rhs)
    moved = to_bits(lhs) >> amount
    return from_bits(np.where(beyond, np.zeros_like(moved), moved), element_type_of(lhs))


@quiet
def shift_right_arithmetic(lhs: Array, rhs: Array) -> Array:
    """Return bits shifted down, filled with copies of the top bit, also for unsigned integers."""
    element_type = element_type_of(lhs)
    amount, beyond = _shift(rhs)
    bits = to_bits(lhs)
    signed = bits.view(np.dtype(f"int{8 * bits.itemsize}"))
    if element_type.bits < 8:  # shift the type's top bit to the top of the byte, and back down
        spare = 8 - element_type.bits
        signed = (signed << spare) >> spare
    last = np.full_like(amount, element_type.bits - 1)
    moved = signed >> np.where(beyond, last, amount).astype(signed.dtype)
    return from_bits(moved.view(bits.dtype), element_type)
