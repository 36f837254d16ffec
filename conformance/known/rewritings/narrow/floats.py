"""Floating-point numbers narrower than f32 that are computed in f32 without rounding in between.

XLA computes bf16, f8 and narrower types in f32, with conversions around each operation. Its pass
simplify-fp-conversions removes a conversion to the narrow type and back
(xla_allow_excess_precision, on by default). So an operation uses what the operation before it
computed, not the rounded number that is its result: an overflow in f8 may go away, a product that
rounds to zero may be a number, and a stated conversion may not round.

Here an operation is evaluated in f32, on operands that are made so, too, of the values that the
backend has before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, ValuePrediction
from conformance.transforms.retype import element_of, retype
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.op import Structure
from reference.ir.program import Operation, Program, Value
from reference.ir.types import ELEMENT_TYPES, Array, ElementType
from reference.numerics.alike import equal_elements
from reference.numerics.arithmetic import quiet
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_to, to_float64
from reference.ops.structure import is_constant
from reference.ops.table import OPS

KEPT_IN_F32 = "kept in f32"

_F32 = ELEMENT_TYPES["f32"]
_WIDER = {of: _F32 for of in ELEMENT_TYPES.values() if of.is_float and of.bits < _F32.bits}

_ALL = 1 << 10
"""Depth of operations that are computed in f32 as far as they go."""

_MOST_CHOICES = 64
"""Largest number of combinations of rounded and unrounded operands."""

_FUNCTION_ERROR = 2.0**-21
"""Relative error of a few functions of f32, a few units of 2^-24."""


def in_f32(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[ValuePrediction]:
    """Yield results of an operation on narrow numbers with some operands not rounded."""
    is_any = any(is_narrow(one) for one in operation.operands)
    if not is_any or len(operation.results) != 1 or not _can_widen(operation):
        return
    choices = [_choices(program, values, one) for one in operation.operands]
    for operands in islice(product(*choices), 1, _MOST_CHOICES):  # the first are all rounded
        for shown in (None, ObservedProgram(program, values)):
            wide = _evaluate(operation, operands, shown)
            if wide is not None:
                yield _round_prediction(operation.results[0], wide)


def _choices(program: Program, values: Mapping[str, Array], value: Value) -> list[Array]:
    """Return an operand, and what it may be if it is not rounded; empty if it is unknown."""
    given = ObservedProgram(program, values).known_value(value)
    if given is None:
        return []
    if not is_narrow(value):
        return [given]
    found = [convert_to(given, _F32)]
    for depth, moves, reciprocals in product((_ALL, 1), (True, False), (False, True)):
        wide = _Widening(program, values, moves, reciprocals, depth).wide(value)
        if wide is not None and not any(equal_elements(one, wide).all() for one in found):
            found.append(wide)
    return found


@quiet
def _round_prediction(result: Value, wide: Array) -> ValuePrediction:
    """Return a prediction in the type of the result, with the error of functions in f32."""
    of = element_of(result)
    if of not in _WIDER:
        return ValuePrediction(wide)
    exact = to_float64(wide)
    rounded = round_to(exact, of)
    ends = (to_float64(round_to(exact * (1 + way * _FUNCTION_ERROR), of)) for way in (1, -1))
    off = [np.abs(end - to_float64(rounded)) for end in ends]
    return ValuePrediction(rounded, np.where(np.isfinite(off), off, 0).max(axis=0))


def is_narrow(value: Value) -> bool:
    """Return whether a value is of floating-point numbers narrower than f32."""
    return element_of(value) in _WIDER


@dataclass(frozen=True)
class _Widening(ObservedProgram):
    """The values of a program as f32 computes them, from the backend's values before them.

    `moves` says whether operations that only move elements move unrounded numbers. `reciprocals`
    says whether a quotient by a constant is a product with the rounded reciprocal. Values are
    unrounded as long as no more than `depth` operations make them of rounded ones.
    """

    moves: bool
    reciprocals: bool
    depth: int
    _found: dict[str, Array | None] = field(default_factory=dict[str, Array | None])

    def wide(self, value: Value) -> Array | None:
        """Return a narrow value in f32, unrounded if it is computed so; None if unknown."""
        if value.name not in self._found:
            computed, rounded = self._computed(value), self.known_value(value)
            if computed is None and rounded is not None:
                computed = convert_to(rounded, _F32)
            self._found[value.name] = computed
        return self._found[value.name]

    def _computed(self, value: Value) -> Array | None:
        """Return what the operation that makes a value computes in f32; None if it rounds."""
        maker = self.maker(value)
        if maker is None or is_constant(maker) or self.is_folded(value) or not self.depth:
            return None
        if len(maker.results) != 1 or not _can_widen(maker):
            return None
        is_move = OPS[maker.name].moves_elements
        if is_move and not self.moves:
            return None
        is_same = is_move or self.depth == _ALL
        inner = self if is_same else replace(self, depth=self.depth - 1, _found={})
        operands = [
            inner.wide(one) if is_narrow(one) else self.known_value(one) for one in maker.operands
        ]
        known = [one for one in operands if one is not None]
        if len(known) < len(operands):
            return None
        return _evaluate(maker, known, self if self.reciprocals else None)


def _can_widen(operation: Operation) -> bool:
    """Return whether an operation has a meaning for numbers of another type."""
    record = OPS.get(operation.name)
    if record is None or record.structure is not Structure.COMPUTES:
        return False
    return not (record.of_bits or record.draws)


def _evaluate(
    operation: Operation, operands: Sequence[Array], shown: ObservedProgram | None
) -> Array | None:
    """Return a result in f32, or of its own type if that is no narrower; None if unknown.

    With `shown`, a quotient by a constant is a product with its rounded reciprocal.
    """
    try:
        if shown is not None and OPS[operation.name] is OPS["divide"]:
            divisor = operation.operands[1]
            of = element_of(divisor)
            if of in _WIDER and shown.is_folded(divisor):
                return _multiply_by_reciprocal(operands[0], operands[1], of)
        return apply(retype(operation, _WIDER), operands)[0]
    except EvaluationError:
        return None


@quiet
def _multiply_by_reciprocal(dividend: Array, divisor: Array, of: ElementType) -> Array:
    reciprocal = round_to(1 / to_float64(divisor), of)
    product_ = OPS["multiply"].evaluate(dividend, convert_to(reciprocal, _F32))
    assert isinstance(product_, np.ndarray)
    return product_
