"""The elements of a result that are not bit-identical, and everything that may explain them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conformance.judging.questions import Predicted
from conformance.judging.together import Said
from conformance.known.elementwise import met
from conformance.known.hypothesis import NEAR, Hypothesis
from conformance.known.xla.subnormals import subnormal_order
from conformance.tolerance.rule import Measure, Rule
from conformance.tolerance.ulp import bound_distances, distances_from, ulp_distances
from conformance.verdict import Element
from reference.interpreter.evaluate import apply, reshape_operation
from reference.ir.op import Op
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of, to_bits
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS


@dataclass(frozen=True)
class Differing:
    """The elements of one result whose bits differ, and everything that may explain them.

    `where` are their flat indices in the result, which is `number` of the operation's. `said` is
    what the rule says of the result; `results` are all actual results. `hypotheses` are those about
    the operation, `by_measure` gives the errors of the result's elements by the measure of one of
    them.
    """

    operation: Operation
    operands: tuple[Any, ...]
    expected: Array
    actual: Array
    where: Array
    rule: Rule
    budget: float | None
    platform: str
    number: int
    said: Said
    results: tuple[Array, ...]
    hypotheses: tuple[Hypothesis, ...]
    by_measure: Callable[[Measure], Array]

    @cached_property
    def type(self) -> ElementType:
        """The result's element type."""
        return element_type_of(self.expected)

    @cached_property
    def want(self) -> Array:
        """The expected elements, 1-D."""
        return self.expected.reshape(-1)[self.where]

    @cached_property
    def got(self) -> Array:
        """The actual elements, 1-D."""
        return self.actual.reshape(-1)[self.where]

    @cached_property
    def is_real(self) -> bool:
        """Whether the result is floating-point."""
        return self.type.is_float

    @cached_property
    def wide(self) -> tuple[Array, Array]:
        """Expected and actual real elements as float64, exactly."""
        return to_float64(self.want), to_float64(self.got)

    @cached_property
    def distances(self) -> Array:
        """Errors of floating-point and complex elements, in ulp or in units of the bound; inf for
        anything else."""
        if self.said.measured is not None:
            return self.said.measured.reshape(-1)[self.where]
        if self.said.bound is not None:
            return self.of_bound(self.want)
        if self.type.is_float or self.type.is_complex:
            return ulp_distances(self.want, self.got)
        return np.full(len(self.where), np.inf)

    @cached_property
    def right_zeros(self) -> Array:
        """Which elements have no zero of a sign that the rule rules out."""
        if self.rule.either_zero is None:
            return np.ones(len(self.where), np.bool_)
        wrong = is_zero(self.want) & is_zero(self.got)
        wrong &= is_negative(self.want) != is_negative(self.got)
        if self.said.either_zero is not None:
            shape = (self.expected.size, *wrong.shape[1:])
            wrong &= ~self.said.either_zero.reshape(shape)[self.where]
        return ~(wrong.any(axis=-1) if self.type.is_complex else wrong)

    @cached_property
    def ordered_by_flushed(self) -> Array:
        """Which elements are explained by comparisons that take subnormals for zeros, and flush
        nothing."""
        alone = len(self.operation.results) == 1  # then others of the program are not its results
        actual = (self.actual,) if alone else self.results
        whole = len(actual) == len(self.operation.results)
        if not whole or not all(isinstance(operand, np.ndarray) for operand in self.operands):
            return np.zeros(len(self.where), np.bool_)
        masks = subnormal_order.explained(self.operation, self.operands, actual, self.rule)
        return masks[self.number].reshape(-1)[self.where]

    def explained(self, hypothesis: Hypothesis) -> Array:
        """Which of the elements are as a hypothesis predicts, zeros' signs included."""
        near = self._measured(hypothesis.errors) <= 1
        return near if hypothesis.signs else near & self.right_zeros

    def predicted_by(self, hypothesis: Hypothesis) -> Predicted:
        """What tells the elements that are within `NEAR` ulp of what a hypothesis predicts."""
        return lambda: self._measured(hypothesis.ulps) <= NEAR

    def predicted(self, other: Array) -> Predicted:
        """What tells the elements that are as `other` says, within `NEAR` ulp."""
        return lambda: distances_from(other, self.got) <= NEAR

    def _measured(self, measure: Measure | None) -> Array:
        """The errors of the elements by the measure of another formula; infinite without one."""
        if measure is None:
            return np.full(len(self.where), np.inf)
        return self.by_measure(measure).reshape(-1)[self.where]

    @property
    def bounded(self) -> bool:
        """Whether distances are in units of what the rule permits, rather than in ulp."""
        return self.said.bound is not None or self.said.measured is not None

    def of_bound(self, other: Array) -> Array:
        """Return the errors from other elements in units of the bound; infinite without one."""
        bound = self.said.bound
        if bound is None:
            return np.full(len(self.where), np.inf)
        return bound_distances(other, self.got, bound.reshape(-1)[self.where])

    @property
    def record(self) -> Op | None:
        """The record of the operation, None for the call of a function, which has none."""
        return OPS.get(self.operation.name)

    @cached_property
    def met(self) -> tuple[Array, ...] | None:
        """The operands' elements that met at each, 1-D; None where shapes do not tell them, and of
        ops that do not work element by element."""
        found = met(self.operation, self.operands, self.expected.shape)
        return found and tuple(one.reshape(-1)[self.where] for one in found)

    def again(self, operands: Iterable[Array]) -> Array:
        """The op's own results on other operand elements."""
        return apply(reshape_operation(self.operation, (len(self.where),)), tuple(operands))[0]

    def same(self, other: Array) -> Array:
        """Which actual elements are what `other` says: alike in every bit, or both NaN."""
        return equal_elements(self.got, other)

    def near(self, other: Array) -> Array:
        """Which actual elements are within the budget of what `other` says."""
        near = self.same(other)
        if self.budget and not self.bounded:
            near |= ulp_distances(other, self.got) <= self.budget
        return near

    def element(self, result: int, position: int, distance: float) -> Element:
        """The element at that position among the differing ones, as records keep it."""
        flat = int(self.where[position])
        index = tuple(int(i) for i in np.unravel_index(flat, self.expected.shape))
        inputs: list[tuple[str, str, str]] = []
        if self.met is not None and self.record is not None:
            for name, array in zip(self.record.operands, self.met, strict=True):
                one = array[position : position + 1]
                inputs.append((name, decimal(one), hexadecimal(one)))
        want, got = self.want[position : position + 1], self.got[position : position + 1]
        ulp = distance if np.isfinite(distance) else None
        return Element(
            result, index, decimal(want), hexadecimal(want), decimal(got), hexadecimal(got), ulp,
            tuple(inputs),
        )  # fmt: skip


def decimal(array: Array) -> str:
    """The only element of an array in decimal: the shortest digits that give it back."""
    of = element_type_of(array)
    if of.is_boolean:
        return "true" if array[0] else "false"
    if of.is_integer:
        return str(int(array[0]))
    if of.is_complex:
        return f"({decimal(np.real(array))}, {decimal(np.imag(array))})"
    return str(array[0]) if of.bits in (32, 64) else repr(float(to_float64(array)[0]))


def hexadecimal(array: Array) -> str:
    """The bits of the only element of an array, all digits, the parts of a complex in order."""
    of = element_type_of(array)
    digits = max(1, of.part.bits // 4)
    return ", ".join(f"0x{int(bits):0{digits}X}" for bits in to_bits(array).reshape(-1))
