"""Integers of two and four bits computed in eight bits without truncation in between.

-(-8) is -8 in four bits, and 8 in eight: an operation in the same loop that uses more than the low
bits uses another number. Here an operation is evaluated in eight bits. So are the operations that
define its operands, from the backend's values. A sum of products that is converted to eight bits is
computed in eight bits as a whole.

This module also predicts comparisons of two-bit signed integers with a negative constant. LLVM
extends the constant with zeros, so that max(1, -1) is 3 in eight bits, and -1 in two. In vectorised
code the constant becomes zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from conformance.known.rewritings.values import ObservedProgram, Predictions, ValuePrediction
from conformance.transforms.retype import retype
from conformance.transforms.values import static_element_type
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.monoid import MAXIMUM, MINIMUM
from reference.ir.program import Operation, TensorType, Value
from reference.ir.regions import monoid_of
from reference.ir.types import ELEMENT_TYPES, Array
from reference.ops.structure import is_constant
from reference.ops.table import OPS

KEPT = "kept in eight bits"
NEGATIVE = "two bits beside a negative constant"

_BYTE = 8
_WIDE = {True: ELEMENT_TYPES["si8"], False: ELEMENT_TYPES["ui8"]}
_WIDER = {
    of: _WIDE[of.is_signed] for of in ELEMENT_TYPES.values() if of.is_integer and of.bits < _BYTE
}


def untruncated_integer_results(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield results of an operation on narrow integers with some operands not truncated."""
    (result,) = operation.results
    if not any(is_narrow(one) for one in operation.operands) or not _acts_on_each(operation):
        return
    model = _Model(shown.program, shown.values)
    yield from _predict_sum_of_products(model, operation)
    if operation.name == "popcnt" and model.maker(operation.operands[0]) is not None:
        all_bits = model.evaluate(operation, [False])  # of a number whose sign is extended
        if all_bits is not None:
            yield ValuePrediction(_truncate(all_bits, result))
    ways = [[True, False] if model.has_excess_bits(one) else [False] for one in operation.operands]
    for way in product(*ways):
        is_other = any(way) or _is_map(operation)  # what is computed in a region is not cut, either
        if is_other and (found := model.evaluate(operation, way)) is not None:
            yield ValuePrediction(_truncate(found, result))


_SUMS_OF_PRODUCTS = frozenset({"convolution", "dot", "dot_general", "dynamic_conv", "einsum"})


def _predict_sum_of_products(model: _Model, operation: Operation) -> Predictions:
    """Yield a sum of products that is converted to eight bits, if it is not truncated before.

    Source: XLA's pass float-normalization, which removes the pair of conversions around it.
    """
    (value,), (result,) = operation.operands[:1], operation.results
    maker = model.maker(value) if operation.name == "convert" else None
    if maker is None or maker.name not in _SUMS_OF_PRODUCTS:
        return
    of, to = static_element_type(value), static_element_type(result)
    if of is not None and _WIDER.get(of) == to:
        found = model.evaluate(maker, [False] * len(maker.operands))
        if found is not None:
            yield ValuePrediction(found)


def is_narrow(value: Value) -> bool:
    """Return whether a value is of integers of fewer than eight bits."""
    of = static_element_type(value)
    return of is not None and of.is_integer and of.bits < _BYTE


def _acts_on_each(operation: Operation) -> bool:
    """Return whether an operation acts on single elements: it is elementwise, rearranges elements,
    or has no operands.
    """
    record = OPS[operation.name]
    is_plain = record.lifts or record.rearranges or not operation.operands
    return is_plain or _is_map(operation)


def _is_map(operation: Operation) -> bool:
    """Return whether an operation applies its region elementwise to operands of equal shape."""
    shapes = {
        one.type.shape
        for one in (*operation.operands, *operation.results)
        if isinstance(one.type, TensorType)
    }
    arguments = [len(one.arguments) for one in operation.regions]
    return len(shapes) == 1 and arguments == [len(operation.operands)]


def beside_negatives(shown: ObservedProgram, operation: Operation) -> Predictions:
    """Yield results of two-bit integers that are compared with a negative constant.

    Yield also the results of an operation on such a result, truncated to two bits before it or
    after it.
    """
    model = _Model(shown.program, shown.values)
    (result, *_) = operation.results
    for wide in _compare_in_eight_bits(model, operation):
        yield ValuePrediction(_truncate(wide, result))
    for number, operand in enumerate(operation.operands):
        maker = model.maker(operand)
        if maker is None or not _has_two_bits(operand):
            continue
        one_bit = [*_predict_quotient_by_one_bit(model, maker)]
        compared = [*_compare_in_eight_bits(model, maker)]
        for wide in compared if _acts_on_each(operation) else ():
            kept = replace(model, values={**model.values, operand.name: wide})
            found = kept.evaluate(operation, [False] * len(operation.operands))
            if found is not None:
                yield ValuePrediction(_truncate(found, result))
        before = [*(_truncate(wide, operand) for wide in compared), *one_bit]
        others = [shown.values.get(one.name) for one in operation.operands]
        for taken in before:
            given = [taken if n == number else one for n, one in enumerate(others)]
            known = [one for one in given if one is not None]
            if len(known) < len(given):
                continue
            for predicted in _apply_operation(operation, known):
                yield predicted
                if one_bit and _has_two_bits(operation.results[0]):
                    bits = predicted.result.astype(np.int8) & 1
                    yield ValuePrediction((-bits).astype(predicted.result.dtype))


def _compare_in_eight_bits(model: _Model, operation: Operation) -> Iterator[Array]:
    """Yield the results of a comparison, or an extremum, with negative two-bit constants, not
    truncated to two bits.

    The constants are zero-extended: -2 becomes 2. x > -2 becomes x != -2 before that. Source:
    jaxlib 0.10.2 and 0.12, measured; only 0.10.2 gives zeros for the maximum of vectors with -1.
    """
    if not _meets_negative(model, operation):
        return
    negatives = [one for one in operation.operands if _is_negative(model, one)]
    extended = {one.name: _sign_extended_constant(model, one) for one in negatives}
    other = replace(model, values={**model.values, **extended})
    wide = other.evaluate(operation, [False] * len(operation.operands))
    if wide is not None:
        yield wide
        if operation.attribute("comparison_direction") == "GT":
            yield np.ones_like(wide)
        elif OPS[operation.name].monoid is MAXIMUM and wide.ndim:
            yield np.zeros_like(wide)


def _sign_extended_constant(shown: ObservedProgram, value: Value) -> Array:
    constant = shown.constant(value)
    assert constant is not None
    return constant.astype(np.int8) & _LOW


def _predict_quotient_by_one_bit(model: _Model, operation: Operation) -> Iterator[Array]:
    """Yield a quotient by -2 whose one-bit result 1 is sign-extended to -1."""
    if OPS[operation.name] is OPS["divide"] and _has_negative(model, operation):
        quotient = model.known_value(operation.results[0])
        if quotient is not None:
            yield np.where(quotient.astype(np.int8) == 1, -1, quotient).astype(quotient.dtype)


def _apply_operation(operation: Operation, operands: Sequence[Array]) -> Predictions:
    try:
        yield ValuePrediction(apply(operation, operands)[0])
    except EvaluationError:
        return


_LOW = np.int8(3)
"""Mask of the two bits of a two-bit integer in a byte."""

_COMPARING = frozenset({"compare", "clamp"})


def _has_two_bits(value: Value) -> bool:
    of = static_element_type(value)
    return of is not None and of.is_integer and of.is_signed and of.bits == 2


def _meets_negative(shown: ObservedProgram, operation: Operation) -> bool:
    """Return whether an operation compares two-bit integers with a negative constant."""
    regions = operation.regions
    monoid = monoid_of(regions[0]) if len(regions) == 1 else OPS[operation.name].monoid
    compares = monoid in (MAXIMUM, MINIMUM) or operation.name in _COMPARING
    return compares and _has_negative(shown, operation)


def _has_negative(shown: ObservedProgram, operation: Operation) -> bool:
    """Return whether an operand is a two-bit constant with negative numbers."""
    return any(_is_negative(shown, one) for one in operation.operands)


def _is_negative(shown: ObservedProgram, value: Value) -> bool:
    constant = shown.constant(value) if _has_two_bits(value) else None
    return constant is not None and bool((constant.astype(np.int8) < 0).any())


class _Model(ObservedProgram):
    """The values of a program, with narrow integers in eight bits."""

    def evaluate(self, operation: Operation, wide: Sequence[bool]) -> Array | None:
        """Return the result in eight bits; `wide` selects the operands not truncated."""
        pairs = zip(operation.operands, wide, strict=True)
        operands = [self._wide(one) if way else self._observed_array(one) for one, way in pairs]
        if any(one is None for one in operands):
            return None
        try:
            return apply(retype(operation, _WIDER), [one for one in operands if one is not None])[0]
        except EvaluationError:
            return None

    def has_excess_bits(self, value: Value) -> bool:
        """Return whether a narrow value is computed with more bits than its result shows."""
        wide, shown = (
            (self._wide(value), self._observed_array(value)) if is_narrow(value) else (None, None)
        )
        return wide is not None and shown is not None and not np.array_equal(wide, shown)

    def _observed_array(self, value: Value) -> Array | None:
        array = self.known_value(value)
        if array is None or not is_narrow(value):
            return array
        of = static_element_type(value)
        return array.astype(_WIDE[of is not None and of.is_signed].storage)

    def _wide(self, value: Value) -> Array | None:
        """Return a narrow value as computed in eight bits, or as observed."""
        maker = self.maker(value)
        if maker is None or is_constant(maker) or not _acts_on_each(maker):
            return self._observed_array(value)
        found = self.evaluate(maker, [is_narrow(one) for one in maker.operands])
        return self._observed_array(value) if found is None else found


def _truncate(array: Array, value: Value) -> Array:
    """Return a result in its own type: the low bits."""
    of = static_element_type(value)
    if of is None or not is_narrow(value):
        return array
    span = 1 << of.bits
    low = array.astype(np.int64) & (span - 1)
    if of.is_signed:
        low = np.where(low >= span // 2, low - span, low)
    return low.astype(of.storage)
