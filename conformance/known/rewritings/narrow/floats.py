"""Narrow floating-point numbers that are computed in f32 or f16 without rounding in between.

XLA computes bf16 and f8E8M0FNU in f32, with conversions around each operation, and for GPUs the
other f8 types and f4 in f16. Its pass simplify-fp-conversions removes a conversion to the narrow
type and back (xla_allow_excess_precision, on by default). So an operation uses what the operation
before it computed, not the rounded number that is its result: an overflow in f8 may go away, a
product that rounds to zero may be a number, and a stated conversion may not round.

Here an operation is evaluated in the wider type. So are the operations that define its operands,
from the backend's values.

Source: jaxlib 0.12.0.1, measured for an A100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from conformance.transforms.retype import Types, element_of, retype
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.op import Structure
from reference.ir.program import Operation, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.arithmetic import quiet
from reference.numerics.conversion import convert_to
from reference.numerics.rounding import round_to, to_float64
from reference.ops.structure import is_constant
from reference.ops.table import OPS

KEPT_IN_F32 = "kept in f32"
KEPT_IN_F16 = "kept in f16"

_F16, _F32 = ELEMENT_TYPES["f16"], ELEMENT_TYPES["f32"]
_NARROW = tuple(one for one in ELEMENT_TYPES.values() if one.is_float and one.bits < _F32.bits)
_WIDER: dict[ElementType, Types] = {
    _F32: dict.fromkeys(_NARROW, _F32),
    _F16: {of: _F16 for of in _NARROW if of.bits < _F16.bits and of.name != "f8E8M0FNU"},
}
"""For each wider type, the narrow types whose numbers it has all of."""

_ALL = 1 << 10
"""A depth that no chain of unrounded operations exceeds: their number is not limited."""

_MOST_CHOICES = 64
"""Largest number of combinations of rounded and unrounded operands."""

_FUNCTION_ERROR = {_F32: 2.0**-21, _F16: 2.0**-10}
"""Relative error of a few functions: 8 units of 2^-24 in f32, 2 units of 2^-11 in f16."""


def excess_f32_results(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield results of an operation in f32, with some narrow operands not rounded."""
    return _predict_unrounded(shown, operation, _F32)


def excess_f16_results(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield results of an operation in f16, with some narrow operands not rounded."""
    return _predict_unrounded(shown, operation, _F16)


def _predict_unrounded(
    shown: ObservedProgram, operation: Operation, wide: ElementType
) -> Predictions:
    is_any = any(element_of(one) in _WIDER[wide] for one in operation.operands)
    if not is_any or len(operation.results) != 1 or not _can_widen(operation):
        return
    choices = [_choices(shown, one, wide) for one in operation.operands]
    for operands in islice(product(*choices), 1, _MOST_CHOICES):  # the first are all rounded
        ways = [_evaluate(operation, operands, wide)]
        if _has_folded_divisor(operation, shown):
            ways.append(_multiply_by_reciprocal(operation, operands))
        yield from (_round_prediction(operation.results[0], one) for one in ways if one is not None)


def _choices(shown: ObservedProgram, value: Value, wide: ElementType) -> list[Array]:
    """Return an operand, and what it may be if it is not rounded; empty if it is unknown."""
    given = shown.known_value(value)
    if given is None:
        return []
    if element_of(value) not in _WIDER[wide]:
        return [given]
    found = [convert_to(given, wide)]
    for depth, moves, reciprocals in product((_ALL, 1), (True, False), (False, True)):
        of = shown.program, shown.values, wide, moves, reciprocals, depth
        other = _Widening(*of).wide_value(value)
        if other is not None and not any(equal_elements(one, other).all() for one in found):
            found.append(other)
    return found


@quiet
def _round_prediction(result: Value, wide: Array) -> ValuePrediction:
    """Return a prediction in the type of the result, with the error of functions."""
    of, computed = element_of(result), element_type_of(wide)
    if of is None or of is computed or not of.is_float:
        return ValuePrediction(wide)
    exact, error = to_float64(wide), _FUNCTION_ERROR[computed]
    rounded = round_to(exact, of)
    ends = (to_float64(round_to(exact * (1 + way * error), of)) for way in (1, -1))
    off = [np.abs(end - to_float64(rounded)) for end in ends]
    return ValuePrediction(rounded, np.where(np.isfinite(off), off, 0).max(axis=0))


@dataclass(frozen=True)
class ProgramInF32(ObservedProgram):
    """The backend's values in a program; values of narrow types are converted to f32."""

    def known_value(self, value: Value) -> Array | None:
        """Return the backend's or the constant value; None if not available."""
        found = super().known_value(value)
        return convert_to(found, _F32) if found is not None and is_narrow(value) else found

    def as_result(self, array: Array, value: Value) -> Array:
        """Return numbers of f32 rounded to the narrow type of a value; other numbers unchanged."""
        of = element_of(value)
        is_wide = of in _NARROW and array.dtype == _F32.storage
        return convert_to(array, of) if of is not None and is_wide else array


def is_narrow(value: Value) -> bool:
    """Return whether a value is of floating-point numbers narrower than f32."""
    return element_of(value) in _NARROW


@dataclass(frozen=True)
class _Widening(ObservedProgram):
    """The values of a program as a wider type computes them, from the backend's values before them.

    `moves` says whether operations that only move elements move unrounded numbers. `reciprocals`
    says whether a quotient by a constant is a product with the rounded reciprocal. Values are
    unrounded as long as no more than `depth` operations make them of rounded ones.
    """

    wide: ElementType
    moves: bool
    reciprocals: bool
    depth: int
    _found: dict[str, Array | None] = field(default_factory=dict[str, Array | None])

    def wide_value(self, value: Value) -> Array | None:
        """Return a narrow value in the wider type, unrounded if it is computed so.

        None if it is unknown.
        """
        if value.name not in self._found:
            computed, rounded = self._computed(value), self.known_value(value)
            if computed is None and rounded is not None:
                computed = convert_to(rounded, self.wide)
            self._found[value.name] = computed
        return self._found[value.name]

    def _computed(self, value: Value) -> Array | None:
        """Return what the operation that makes a value computes in the wider type; None if it
        rounds.
        """
        maker = self.maker(value)
        if maker is None or is_constant(maker) or not self.depth:
            return None
        if len(maker.results) != 1 or not _can_widen(maker):
            return None
        is_move = OPS[maker.name].moves_elements
        if is_move and not self.moves:
            return None
        is_same = is_move or self.depth == _ALL
        inner = self if is_same else replace(self, depth=self.depth - 1, _found={})
        types = _WIDER[self.wide]
        operands = [
            inner.wide_value(one) if element_of(one) in types else self.known_value(one)
            for one in maker.operands
        ]
        known = [one for one in operands if one is not None]
        if len(known) < len(operands):
            return None
        if self.reciprocals and _has_folded_divisor(maker, self):
            return _multiply_by_reciprocal(maker, known)
        return _evaluate(maker, known, self.wide)


def _can_widen(operation: Operation) -> bool:
    """Return whether an operation has a meaning for numbers of another type."""
    record = OPS.get(operation.name)
    if record is None or record.structure is not Structure.COMPUTES:
        return False
    return not (record.is_bitcast or record.is_random)


def _has_folded_divisor(operation: Operation, shown: ObservedProgram) -> bool:
    """Return whether an operation is a quotient by a narrow constant."""
    if OPS[operation.name] is not OPS["divide"]:
        return False
    divisor = operation.operands[1]
    return is_narrow(divisor) and shown.is_folded(divisor)


def _evaluate(operation: Operation, operands: Sequence[Array], wide: ElementType) -> Array | None:
    """Return a result in a wider type, or of its own type if that is no narrower; None if
    unknown.
    """
    try:
        return apply(retype(operation, _WIDER[wide]), operands)[0]
    except EvaluationError:
        return None


@quiet
def _multiply_by_reciprocal(operation: Operation, operands: Sequence[Array]) -> Array:
    """Return the product of the dividend and the divisor's reciprocal, rounded to its type."""
    dividend, divisor = operands
    of = tensor_of(operation.operands[1]).element
    reciprocal = round_to(1 / to_float64(divisor), of)
    product_ = OPS["multiply"].evaluate(dividend, convert_to(reciprocal, element_type_of(dividend)))
    assert isinstance(product_, np.ndarray)
    return product_
