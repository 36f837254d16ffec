"""Constants whose bits are converted from or to a type under a byte, and how folding mistakes them.

- Each element of such a type is taken for a byte: ui8 0xE4 as two ui4 is 4 (of 0xE4) and whatever
  stands in memory behind it; two ui4 as a ui8 are the first of them.
- A constant that repeats one negative element is packed with that element's sign extended over the
  elements above it: two of -2 in si4 are 0xFE, and should be 0xEE; eight of them 0xFFFFFFFE.

Source: jaxlib 0.10.2 (both) and 0.12.0 (the second), measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from conformance.transforms.values import evaluated
from reference.ir.program import Operation, Program
from reference.ir.types import Array, ElementType, element_type_of, from_bits, to_bits
from reference.unspecified.reduction import differ

BY_BYTES = "one element a byte"
SIGN_ABOVE = "sign over the elements above"

_BYTE = 8


def concerns(operation: Operation) -> bool:
    """Whether an operation converts bits."""
    return operation.name == "bitcast_convert"


def by_bytes(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program, one bitcast of a constant, gives what stands in bytes of an element each;
    beyond the constant's own bytes that may be anything."""
    constant = _folded(program, inputs, actual)
    if constant is None:
        return False
    (got,) = actual
    memory, mine = (to_bits(one).reshape(-1).view(np.uint8) for one in (constant, got))
    known = min(memory.size, mine.size)
    low = np.uint8((1 << min(element_type_of(got).part.bits, _BYTE)) - 1)
    return bool(((memory[:known] & low) == mine[:known]).all())


def within_the_constant(
    program: Program, inputs: Sequence[Array], actual: Sequence[Array]
) -> list[Array]:
    """Which elements are made of bytes of the constant, where each is taken for an element."""
    constant, (got,) = _folded(program, inputs, actual), actual
    bytes_ = 0 if constant is None else to_bits(constant).nbytes
    each = to_bits(got).nbytes // max(got.size, 1)
    return [(each * np.arange(1, got.size + 1) <= bytes_).reshape(got.shape)]


def sign_above(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> bool:
    """Whether a program, one bitcast of a constant of one negative element, gives that element with
    its sign extended."""
    constant = _folded(program, inputs, actual)
    if constant is None or not constant.size:
        return False
    of = element_type_of(constant)
    first = constant.reshape(-1)[0]
    if not of.is_signed or not bool((constant == first).all()) or not int(first) < 0:
        return False
    (got,) = actual
    to = element_type_of(got)
    if to.is_complex:
        return False
    word = np.array(int(first) & ((1 << to.bits) - 1), f"uint{max(to.bits, _BYTE)}")
    predicted = from_bits(np.full(got.shape, word), to)
    return not differ(predicted.reshape(-1), got.reshape(-1)).any()


def _folded(program: Program, inputs: Sequence[Array], actual: Sequence[Array]) -> Array | None:
    """The constant of which a program of one such bitcast is the bits; None for any other."""
    *before, end = program.main.body.operations
    if not before or inputs or len(actual) != 1:
        return None
    if not concerns(before[-1]) or end.operands != before[-1].results:
        return None
    values = evaluated(program, inputs)
    constant, right = (values[one.operands[0].name] for one in (before[-1], end))
    if actual[0].dtype != right.dtype:
        return None
    types: list[ElementType] = [element_type_of(one) for one in (constant, actual[0])]
    if actual[0].shape != right.shape and not any(of.is_boolean for of in types):
        return None  # results have other shapes where XLA gives an i1 a byte
    return constant if any(of.bits < _BYTE for of in types) else None
