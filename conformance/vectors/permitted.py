"""Permitted results of a single operation, as intervals that any tool can compare with.

The intervals are the program's sets of values. They are tried on the judge of a run: both ends must
pass, and the numbers next to them, outside, must fail. A result for which that does not hold has a
rule that intervals do not state, such as a property of all elements together; it is left to
`hlo-conformance judge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conformance.catalog import CATALOG
from conformance.judging.compare import failing_elements
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.sets.value_set import Interval, ValueSet, is_nan
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array, ElementType, bits_dtype, element_type_of, to_bits
from reference.numerics.zeros import is_zero

MOST = 1 << 16
"""Largest number of elements of a result that is tried."""


@dataclass(frozen=True, slots=True)
class Permitted:
    """Permitted values of a result: the expected result, and the intervals of each element.

    Without `intervals` it must be the expected result. `nan` marks elements that may be NaN.
    `zero_signs` says that a zero has the expected zero's sign, `nan_bits` that a NaN has the
    expected NaN's bits. `judged`: only the judge can tell.
    """

    expected: Array
    intervals: tuple[Interval, ...] = ()
    nan: Array | None = None
    zero_signs: bool = True
    nan_bits: bool = False
    judged: bool = False


def permitted_results(op: str, program: Program, inputs: Sequence[Array]) -> list[Permitted]:
    """Return what each result of a case of an op may be.

    Raises:
        EvaluationError: if the reference refuses the inputs.
    """
    expected = evaluate(program, inputs)
    sets = evaluate_sets(program, inputs, Hardware.CPU.value, is_strict=True)
    if sets is None:
        return [Permitted(one, judged=True) for one in expected]
    trial = _Trial(op, program, inputs, expected)
    return [trial.permitted(index, one) for index, one in enumerate(sets)]


@dataclass(frozen=True, slots=True)
class _Trial:
    """The judge of a case, asked about results that differ from the expected ones."""

    op: str
    program: Program
    inputs: Sequence[Array]
    expected: Sequence[Array]

    def permitted(self, number: int, values: ValueSet) -> Permitted:
        want = self.expected[number]
        fixed = _is_fixed(values)
        is_complex = element_type_of(want).is_complex
        if want.size > MOST or (is_complex and not fixed.all()):
            return Permitted(want, judged=True)
        zeros = is_zero(want).all(axis=-1) if is_complex else is_zero(want)
        zeros, nans = zeros & fixed, is_nan(want) & fixed
        zero_signs = self._decides(number, _other_zeros(want, zeros), zeros)
        nan_bits = self._decides(number, _other_nans(want, nans), nans)
        intervals = [self._fit(number, interval) for interval in values.intervals]
        known = [interval for interval in intervals if interval is not None]
        if zero_signs is None or nan_bits is None or len(known) < len(intervals):
            return Permitted(want, judged=True)
        if self._are_nans_wrong(number, values):
            return Permitted(want, judged=True)
        (low, high), *more = known
        same = _is_same(want, low) and _is_same(want, high) and _has_same_nan(want, values)
        if same and not more:
            return Permitted(want, zero_signs=zero_signs, nan_bits=nan_bits)
        return Permitted(want, tuple(known), values.nan, zero_signs, nan_bits)

    def _are_nans_wrong(self, number: int, values: ValueSet) -> bool:
        """Return whether the judge finds a NaN wrong that the set has, or none that it has not."""
        want = self.expected[number]
        element_type = element_type_of(want)
        if (
            element_type.is_integer
            or element_type.is_boolean
            or not element_type.part.float_format.has_nan
        ):
            return False
        nan = np.full(want.shape, np.nan).astype(want.dtype)
        return bool((self._wrong(number, nan) == values.nan).any())

    def _fit(self, number: int, interval: Interval) -> Interval | None:
        """Return the interval whose ends the judge passes, and not the numbers next to them.

        The set is moved by up to `STEPS` units in the last place. None if that is not enough.
        """
        if element_type_of(self.expected[number]).is_complex:
            return interval if self._is_alone(number, interval[0]) else None
        ends = [self._end(number, end, way) for end, way in zip(interval, (-1, 1), strict=True)]
        low, high = ends
        return None if low is None or high is None else (low, high)

    def _end(self, number: int, end: Array, way: int) -> Array | None:
        want = self.expected[number]
        element_type, nothing = element_type_of(want), is_nan(end)
        for _ in range(STEPS):
            inner, has = _neighbours(end, -way, element_type)
            wrong = self._wrong(number, end) & ~nothing & has & (end != want)
            if not wrong.any():
                break
            end = np.where(wrong, inner, end).astype(end.dtype)
        if (self._wrong(number, end) & ~nothing).any():
            return None
        for _ in range(STEPS):
            outer, has = _neighbours(end, way, element_type)
            right = (
                has & ~nothing & ~self._wrong(number, np.where(has, outer, want).astype(end.dtype))
            )
            if not right.any():
                return end
            end = np.where(right, outer, end).astype(end.dtype)
        return None

    def _is_alone(self, number: int, array: Array) -> bool:
        """Return whether complex numbers that differ in the last place of a part are wrong."""
        for name in ("real", "imag"):
            other = array.copy()
            setattr(other, name, np.nextafter(getattr(array, name), np.inf))
            changed = (other != array) & ~is_nan(array)
            if (self._wrong(number, np.where(changed, other, array)) != changed).any():
                return False
        return True

    def _decides(self, number: int, other: Array, changed: Array) -> bool | None:
        """Return whether all changed elements are wrong; None if only some are."""
        wrong = int(self._wrong(number, other).sum())
        return wrong > 0 if wrong in (0, int(changed.sum())) else None

    def _wrong(self, number: int, result: Array) -> Array:
        """Return which elements are wrong if a result is this."""
        actual = [*self.expected]
        actual[number] = result
        rule = CATALOG[self.op].tolerance
        return failing_elements(self.program, self.inputs, self.expected, actual, number, rule)


STEPS = 24
"""Largest number of units in the last place by which the end of a set is corrected."""


def _is_fixed(values: ValueSet) -> Array:
    """Return a mask of the elements that have a single value."""
    low, high = values.intervals[0]
    if len(values.intervals) > 1:
        return np.zeros(values.shape, np.bool_)
    same = (low == high) & ~values.nan
    return np.asarray(same | (is_nan(low) & is_nan(high)))


def _is_same(one: Array, other: Array) -> bool:
    return bool(((one == other) | (is_nan(one) & is_nan(other))).all())


def _has_same_nan(want: Array, values: ValueSet) -> bool:
    """Return whether a set has NaN only where it is expected."""
    return not bool((values.nan & ~is_nan(want)).any())


def _other_zeros(array: Array, mask: Array) -> Array:
    element_type = element_type_of(array)
    if not element_type.is_float or not element_type.float_format.signed:
        return array
    return np.where(mask, -array, array).astype(array.dtype)


def _other_nans(array: Array, mask: Array) -> Array:
    """Return an array with other bits in NaN where the type has several."""
    element_type = element_type_of(array)
    if not element_type.is_float or not mask.any():
        return array
    bits = to_bits(array)
    other = (bits ^ np.ones((), bits.dtype)).astype(bits_dtype(element_type)).view(array.dtype)
    return np.where(mask & is_nan(other), other, array).astype(array.dtype)


def _neighbours(end: Array, way: int, element_type: ElementType) -> tuple[Array, Array]:
    """Return the next numbers of the type below (-1) or above (1), and which have one."""
    if element_type.is_boolean:
        moved = end if way < 0 else ~end
        return moved if way > 0 else np.zeros_like(end), moved.astype(np.bool_)
    if element_type.is_integer:
        limit = element_type.max_integer if way > 0 else element_type.min_integer
        has = end != np.array(limit).astype(end.dtype)
        wide = (
            end.astype(np.int64) + way
            if element_type.bits < 64
            else end + np.array(way).astype(end.dtype)
        )
        return np.where(has, wide, end).astype(end.dtype), has
    to = np.full(end.shape, np.inf * way).astype(end.dtype)
    beyond = np.nextafter(end, to)
    return beyond, (beyond != end) & ~is_nan(beyond)
