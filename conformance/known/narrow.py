"""Integers of two and four bits that are computed in eight, and not cut to their width in between.

-(-8) is -8 in four bits, and 8 in eight: what takes it in the same loop, and looks at more than its
low bits, sees another number, and counts five bits of -8. Here an operation is evaluated in eight
bits, on operands that are made so, too, of the values that the backend has before them.

And signed integers of two bits that are compared with a negative constant: LLVM makes max(1, -1)
-1, and other numbers of it where it is vectorised, so that any number is explained there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from conformance.known.values import Predicted, Shown
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.monoid import MAXIMUM, MINIMUM
from reference.ir.program import Operation, Program, TensorType, Value
from reference.ir.regions import monoid_of
from reference.ir.types import ELEMENT_TYPES, Array, ElementType
from reference.ops.structure import is_constant
from reference.ops.table import OPS

KEPT = "kept in eight bits"
NEGATIVE = "two bits beside a negative constant"

_BYTE = 8
_WIDE = {True: ELEMENT_TYPES["si8"], False: ELEMENT_TYPES["ui8"]}


def in_eight_bits(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """The result of an operation on narrow integers, some operands not cut to their width."""
    (result,) = operation.results
    if not any(is_narrow(one) for one in operation.operands) or not _acts_on_each(operation):
        return
    model = _Model(program, values)
    if operation.name == "popcnt" and model.maker(operation.operands[0]) is not None:
        all_bits = model.evaluated(operation, [False])  # of a number whose sign is extended
        if all_bits is not None:
            yield Predicted(_cut(all_bits, result))
    ways = [[True, False] if model.differs(one) else [False] for one in operation.operands]
    for way in product(*ways):
        if any(way) and (found := model.evaluated(operation, way)) is not None:
            yield Predicted(_cut(found, result))


def _element(value: Value) -> ElementType | None:
    of = value.type
    if not isinstance(of, TensorType) or not of.is_static:
        return None
    return of.element_type if isinstance(of.element_type, ElementType) else None


def is_narrow(value: Value) -> bool:
    """Whether a value is of integers of fewer than eight bits."""
    of = _element(value)
    return of is not None and of.is_integer and of.bits < _BYTE


def _acts_on_each(operation: Operation) -> bool:
    record = OPS[operation.name]
    return record.lifts or record.rearranges or not operation.operands


def beside_negatives(
    program: Program, operation: Operation, values: Mapping[str, Array]
) -> Iterator[Predicted]:
    """Any number, where integers of two bits are compared with a negative constant; and what an
    operation makes of any number that such a one before it gives."""
    shown = Shown(program, values)
    taken = [values.get(operand.name) for operand in operation.operands]
    if _meets_negative(shown, operation):
        yield from _any_number(operation)
    for number, operand in enumerate(operation.operands):
        maker = shown.maker(operand)
        if maker is None or not _is_of_two_bits(operand):
            continue
        if not _meets_negative(shown, maker) and not _is_compared_later(shown, maker):
            continue
        if operation.name in _COMPARES:
            yield from _any_number(operation)
        for one in _OF_TWO_BITS:
            before = values.get(operand.name)
            others = [*taken]
            others[number] = None if before is None else np.full_like(before, one)
            if all(each is not None for each in others):
                yield from _applied(operation, [each for each in others if each is not None])


def _any_number(operation: Operation) -> Iterator[Predicted]:
    """Any number that the result's elements may be, in turn."""
    of = _element(operation.results[0])
    if of is not None and (of.is_boolean or _is_of_two_bits(operation.results[0])):
        shape = getattr(operation.results[0].type, "shape", ())
        numbers = (False, True) if of.is_boolean else _OF_TWO_BITS
        yield from (Predicted(np.full(shape, one, of.storage)) for one in numbers)


def _applied(operation: Operation, operands: Sequence[Array]) -> Iterator[Predicted]:
    try:
        yield Predicted(apply(operation, operands)[0])
    except EvaluationError:
        return


_OF_TWO_BITS = (-2, -1, 0, 1)
_COMPARING = frozenset({"compare", "clamp"})
_COMPARED_LATER = frozenset({"divide", "or", "shift_left", "subtract"})
_COMPARES = frozenset({*_COMPARING, "abs", "maximum", "minimum", "sign"})


def _is_of_two_bits(value: Value) -> bool:
    of = _element(value)
    return of is not None and of.is_integer and of.is_signed and of.bits == 2


def _meets_negative(shown: Shown, operation: Operation) -> bool:
    """Whether an operation compares integers of two bits with a negative constant."""
    regions = operation.regions
    monoid = monoid_of(regions[0]) if len(regions) == 1 else OPS[operation.name].monoid
    compares = monoid in (MAXIMUM, MINIMUM) or operation.name in _COMPARING
    return compares and _has_negative(shown, operation)


def _is_compared_later(shown: Shown, operation: Operation) -> bool:
    """Whether an operation on a negative constant becomes a comparison with one in what takes it:
    sign(x / -2) is 1 where x is -2."""
    return operation.name in _COMPARED_LATER and _has_negative(shown, operation)


def _has_negative(shown: Shown, operation: Operation) -> bool:
    """Whether an operand is a constant of two bits with negative numbers."""
    constants = (shown.constant(one) for one in operation.operands if _is_of_two_bits(one))
    return any(one is not None and bool((one.astype(np.int8) < 0).any()) for one in constants)


class _Model(Shown):
    """The values of a program, narrow integers among them in eight bits."""

    def evaluated(self, operation: Operation, wide: Sequence[bool]) -> Array | None:
        """The result in eight bits, `wide` saying of which operands their makers are taken so."""
        pairs = zip(operation.operands, wide, strict=True)
        operands = [self._wide(one) if way else self._shown(one) for one, way in pairs]
        if any(one is None for one in operands):
            return None
        retyped = replace(
            operation,
            operands=tuple(map(_retyped, operation.operands)),
            results=tuple(map(_retyped, operation.results)),
        )
        try:
            return apply(retyped, [one for one in operands if one is not None])[0]
        except EvaluationError:
            return None

    def differs(self, value: Value) -> bool:
        """Whether a value is another one in eight bits than as it is shown."""
        wide, shown = (self._wide(value), self._shown(value)) if is_narrow(value) else (None, None)
        return wide is not None and shown is not None and not np.array_equal(wide, shown)

    def _shown(self, value: Value) -> Array | None:
        array = self.values.get(value.name)
        if array is None or not is_narrow(value):
            return array
        of = _element(value)
        return array.astype(_WIDE[of is not None and of.is_signed].storage)

    def _wide(self, value: Value) -> Array | None:
        """A narrow value as eight bits have it; as it is shown where it is made in another way."""
        maker = self.maker(value)
        if maker is None or is_constant(maker) or maker.regions or not _acts_on_each(maker):
            return self._shown(value)
        found = self.evaluated(maker, [is_narrow(one) for one in maker.operands])
        return self._shown(value) if found is None else found


def _retyped(value: Value) -> Value:
    of = _element(value)
    if of is None or not is_narrow(value):
        return value
    return replace(value, type=replace(value.type, element_type=_WIDE[of.is_signed]))


def _cut(array: Array, value: Value) -> Array:
    """A result in its own type: its low bits."""
    of = _element(value)
    if of is None or not is_narrow(value):
        return array
    span = 1 << of.bits
    low = array.astype(np.int64) & (span - 1)
    if of.is_signed:
        low = np.where(low >= span // 2, low - span, low)
    return low.astype(of.storage)
