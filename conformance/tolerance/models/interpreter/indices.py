"""Indices: those of unsigned types, which the interpreter sign-extends."""

from __future__ import annotations

from conformance.tolerance.models.interpreter.otherwise import Results, exactly
from reference.interpreter.evaluate import apply
from reference.ir.program import Operation
from reference.ir.types import Array, element_type, element_type_of, from_bits, to_bits


def signed(indices: Array) -> Array:
    """Unsigned integers as the signed ones of the same bits; others as they are."""
    of = element_type_of(indices)
    return from_bits(to_bits(indices), element_type(f"si{of.bits}")) if of.is_unsigned else indices


def _of_slices(operation: Operation, operands: tuple[Array, ...], expected: Results) -> Results:
    """A slice, or its update: every operand after the arrays themselves is an index."""
    arrays = operands[:1] if len(operands) - operands[0].ndim == 1 else operands[:2]
    del expected
    return apply(operation, (*arrays, *map(signed, operands[len(arrays) :])))


def _of_gather(operation: Operation, operands: tuple[Array, ...], expected: Results) -> Results:
    del expected
    return apply(operation, (operands[0], signed(operands[1]), *operands[2:]))


UNSIGNED_START = exactly("unsigned index taken for signed", _of_gather)
UNSIGNED = exactly("unsigned index taken for signed", _of_slices)
