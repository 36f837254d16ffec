"""Zeros that stand for tiny numbers, and the signs of sums that take such numbers unrounded.

A product of -1e-60 is rounded to -0, and -0 + 0 is +0. A fused multiply-add rounds once: -1e-60
plus zero is -1e-60, and rounds to -0. So does wider arithmetic. Rounded zeros are followed through
a program, each as the smallest number of its sign. Where an operation yields zero from such zeros,
and a number of the other sign from those numbers, that zero may have either sign.

Products, quotients and conversions are seen to underflow: each has its exact result on its record
(`Op.unrounded`). Functions such as `exponential` are not contracted with a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.op import Op, Rounding, Structure
from reference.ir.program import Operation
from reference.ir.types import Array, element_type_of
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS

SIGNS = (-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Tiny:
    """Masks of a result's zeros that stand for tiny numbers: a mask for positive numbers and a mask
    for negative numbers.
    """

    negative: Array
    positive: Array

    def mask(self, sign: float) -> Array:
        """Return the zeros that may stand for a number of this sign."""
        return self.negative if sign < 0 else self.positive

    def zeros_of_either_sign(self, result: Array) -> Array:
        """Return the zeros of a result that may have the other sign."""
        return np.where(np.signbit(to_float64(result)), self.positive, self.negative)

    @property
    def any(self) -> bool:
        """Whether there is any such zero."""
        return bool(self.negative.any() or self.positive.any())


@quiet
def tiny_of(
    operation: Operation, operands: Sequence[Any], tiny: Sequence[Tiny | None], result: Any
) -> Tiny | None:
    """Return the zeros of an operation's one result that stand for tiny numbers; None if none do.

    `tiny` has the same for the operands.
    """
    record = OPS.get(operation.name)
    if record is None or record.structure is not Structure.COMPUTES or not _is_float(result):
        return None
    rounds = record.rounding is Rounding.CORRECT and _is_exact_known(record, operands)
    if not rounds and all(one is None for one in tiny):
        return None
    zero = np.asarray(result == 0)
    if not zero.any():
        return None
    found = Tiny(np.zeros(result.shape, np.bool_), np.zeros(result.shape, np.bool_))
    for there in _unrounded_results(record, operation, operands, tiny, zero):
        found = replace(
            found,
            negative=found.negative | (zero & (there < 0)),
            positive=found.positive | (zero & (there > 0)),
        )
    return found if found.any else None


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and element_type_of(value).is_float


def _is_exact_known(record: Op, operands: Sequence[Any]) -> bool:
    """Return whether the op's record gives the unrounded result of these operands."""
    return record.unrounded is not None and record.lifts and all(map(_is_float, operands))


def _unrounded_results(
    record: Op,
    operation: Operation,
    operands: Sequence[Any],
    tiny: Sequence[Tiny | None],
    zero: Array,
) -> Iterator[Array]:
    """Yield results of an operation with tiny numbers in place of zeros, unrounded where
    possible.
    """
    exact = _is_exact_known(record, operands)
    if exact and record.rounding is Rounding.CORRECT and _may_underflow(operands, zero):
        yield _exact_results(record, operands)
    for given in _variants(operands, tiny):
        if exact:
            yield _exact_results(record, given)
            continue
        try:
            (there,) = apply(operation, given)
        except EvaluationError:
            continue
        yield to_float64(there)


def _may_underflow(operands: Sequence[Array], zero: Array) -> bool:
    """Return whether any of these results is zero though no operand is."""
    return bool((zero & np.all([operand != 0 for operand in operands], axis=0)).any())


def _exact_results(record: Op, operands: Sequence[Array]) -> Array:
    assert record.unrounded is not None
    wide = (to_float64(operand).astype(np.longdouble) for operand in operands)
    return np.asarray(record.unrounded(*wide))


def _variants(operands: Sequence[Any], tiny: Sequence[Tiny | None]) -> Iterator[tuple[Any, ...]]:
    """Yield the operands with one operand's zeros of one sign replaced by the smallest number."""
    for index, one in enumerate(tiny):
        for sign in SIGNS:
            if one is None or not one.mask(sign).any():
                continue
            array, element_type = operands[index], element_type_of(operands[index])
            smallest = round_to(np.asarray(sign * element_type.float_format.smallest), element_type)
            there = np.where(one.mask(sign), smallest, array).astype(array.dtype)
            yield (*operands[:index], there, *operands[index + 1 :])
