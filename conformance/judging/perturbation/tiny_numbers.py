"""Zeros that stand for tiny numbers: which sign has a sum that takes such a number unrounded.

A product of -1e-60 is rounded to -0, and -0 + 0 is +0. A fused multiply-add rounds once: it makes
-1e-60 of product and zero, and -0 of that. So does wider arithmetic. Zeros that were rounded are
followed through a program, each as the smallest number of its sign. Where an operation makes a zero
of such zeros, and a number of the other sign of those numbers, that zero may have either sign.

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
    """Zeros of a result that stand for a number: for each sign a mask of the result's shape."""

    negative: Array
    positive: Array

    def of(self, sign: float) -> Array:
        """Return the zeros that may stand for a number of this sign."""
        return self.negative if sign < 0 else self.positive

    def either(self, result: Array) -> Array:
        """Return the zeros of a result that may have another sign than they have."""
        return np.where(np.signbit(to_float64(result)), self.positive, self.negative)

    @property
    def any(self) -> bool:
        """Whether there is any such zero."""
        return bool(self.negative.any() or self.positive.any())


@quiet
def tiny_of(
    operation: Operation, operands: Sequence[Any], tiny: Sequence[Tiny | None], result: Any
) -> Tiny | None:
    """Return which zeros of an operation's one result stand for tiny numbers; None for no zero.

    `tiny` says it of the operands.
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
    for there in _without_roundings(record, operation, operands, tiny, zero):
        found = replace(
            found,
            negative=found.negative | (zero & (there < 0)),
            positive=found.positive | (zero & (there > 0)),
        )
    return found if found.any else None


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and element_type_of(value).is_float


def _is_exact_known(record: Op, operands: Sequence[Any]) -> bool:
    """Whether the record has the result of these operands before it is rounded."""
    return record.unrounded is not None and record.lifts and all(map(_is_float, operands))


def _without_roundings(
    record: Op,
    operation: Operation,
    operands: Sequence[Any],
    tiny: Sequence[Tiny | None],
    zero: Array,
) -> Iterator[Array]:
    """Yield results of an operation with tiny numbers for zeros, unrounded where possible."""
    exact = _is_exact_known(record, operands)
    if exact and record.rounding is Rounding.CORRECT and _may_underflow(operands, zero):
        yield _exact(record, operands)
    for given in _variants(operands, tiny):
        if exact:
            yield _exact(record, given)
            continue
        try:
            (there,) = apply(operation, given)
        except EvaluationError:
            continue
        yield to_float64(there)


def _may_underflow(operands: Sequence[Array], zero: Array) -> bool:
    """Whether one of these results is zero though no operand is."""
    return bool((zero & np.all([one != 0 for one in operands], axis=0)).any())


def _exact(record: Op, operands: Sequence[Array]) -> Array:
    assert record.unrounded is not None
    wide = (to_float64(one).astype(np.longdouble) for one in operands)
    return np.asarray(record.unrounded(*wide))


def _variants(operands: Sequence[Any], tiny: Sequence[Tiny | None]) -> Iterator[tuple[Any, ...]]:
    """Yield the operands with the zeros of one operand, of one sign, as the smallest numbers."""
    for number, one in enumerate(tiny):
        for sign in SIGNS:
            if one is None or not one.of(sign).any():
                continue
            array, of = operands[number], element_type_of(operands[number])
            smallest = round_to(np.asarray(sign * of.float_format.smallest), of)
            there = np.where(one.of(sign), smallest, array).astype(array.dtype)
            yield (*operands[:number], there, *operands[number + 1 :])
