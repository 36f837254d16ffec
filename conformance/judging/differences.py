"""The elements of a result that are not bit-identical, with everything that may explain them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conformance.judging.joint_results import RuleAnswers
from conformance.judging.questions import Predicted
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.summands import factors_read
from conformance.known import subnormal_order
from conformance.known.broadcasting import broadcast_operands
from conformance.known.hypothesis import NEAR, Hypothesis
from conformance.tolerance.rule import Measure, Rule
from conformance.tolerance.ulp import bound_distances, ulp_distances, ulps_from_prediction
from conformance.verdict import Element
from reference.interpreter.evaluate import apply, evaluate, reshape_operation
from reference.ir.op import Op
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of, to_bits
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64
from reference.numerics.zeros import is_negative, is_zero
from reference.ops.table import OPS


@dataclass(frozen=True)
class DifferingElements:
    """The elements of one result whose bits differ, with everything that may explain them.

    `where` has their flat indices in the result; `number` is the result's index. `answers` are the
    rule's answers about this result, `results` are all actual results of the operation, and
    `hypotheses` are about the operation. `error_measure` returns the errors of the result's
    elements by a hypothesis's measure.
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
    answers: RuleAnswers
    results: tuple[Array, ...]
    hypotheses: tuple[Hypothesis, ...]
    error_measure: Callable[[Measure], Array]

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
        """Errors of floating-point and complex elements, in ulp or in units of the bound.

        They are infinite for other types.
        """
        if self.answers.measured is not None:
            return self.answers.measured.reshape(-1)[self.where]
        if self.answers.bound is not None:
            return self.bound_errors(self.want)
        if self.type.is_float or self.type.is_complex:
            return ulp_distances(self.want, self.got)
        return np.full(len(self.where), np.inf)

    @cached_property
    def has_permitted_zeros(self) -> Array:
        """A mask of the elements without a zero whose sign the rule forbids."""
        if self.rule.either_zero is None:
            return np.ones(len(self.where), np.bool_)
        wrong = is_zero(self.want) & is_zero(self.got)
        wrong &= is_negative(self.want) != is_negative(self.got)
        if self.answers.either_zero is not None:
            shape = (self.expected.size, *wrong.shape[1:])
            wrong &= ~self.answers.either_zero.reshape(shape)[self.where]
        return ~(wrong.any(axis=-1) if self.type.is_complex else wrong)

    @cached_property
    def has_flushed_order(self) -> Array:
        """A mask of the elements explained by comparisons that treat subnormals as zero.

        Nothing else is flushed but the selected numbers.
        """
        # the program may have further results, of other operations
        actual = (self.actual,) if len(self.operation.results) == 1 else self.results
        whole = len(actual) == len(self.operation.results)
        if not whole or not all(isinstance(operand, np.ndarray) for operand in self.operands):
            return np.zeros(len(self.where), np.bool_)
        masks = subnormal_order.explained_elements(self.operation, self.operands, actual, self.rule)
        return masks[self.number].reshape(-1)[self.where]

    def matches(self, hypothesis: Hypothesis) -> tuple[Array, Predicted]:
        """Return a mask of the elements that match a hypothesis, zeros' signs included, and a
        function that gives those within `NEAR` ulp of it, or that its program permits.
        """
        permitted = self._permitted_by(hypothesis)
        explained = (self._hypothesis_errors(hypothesis.errors) <= 1) | permitted
        return explained, lambda: (self._hypothesis_errors(hypothesis.ulps) <= NEAR) | permitted

    def _permitted_by(self, hypothesis: Hypothesis) -> Array:
        """Return a mask of the elements that a hypothesis's program permits.

        Where it has one result more, a mask, elements for which that is false are none of its.
        """
        nothing = np.zeros(len(self.where), np.bool_)
        program = hypothesis.program and hypothesis.program(self.operation)
        if program is None or not all(isinstance(operand, np.ndarray) for operand in self.operands):
            return nothing
        sets = evaluate_sets(program, self.operands, self.platform, flushes=hypothesis.flushes)
        if sets is None or sets[self.number].shape != self.actual.shape:
            return nothing
        permitted = sets[self.number].holds(self.actual)
        if len(sets) > len(self.operation.results):
            permitted &= evaluate(program, self.operands)[-1].astype(np.bool_)
        return permitted.reshape(-1)[self.where]

    def prediction(self, other: Array) -> Predicted:
        """Return a function that gives the elements within `NEAR` ulp of `other`."""
        return lambda: ulps_from_prediction(other, self.got) <= NEAR

    def _hypothesis_errors(self, measure: Measure | None) -> Array:
        """Return the elements' errors by a hypothesis's measure; infinite if it is None."""
        if measure is None:
            return np.full(len(self.where), np.inf)
        return self.error_measure(measure).reshape(-1)[self.where]

    @property
    def is_bounded(self) -> bool:
        """Whether distances are in units of the permitted error rather than in ulp."""
        return self.answers.bound is not None or self.answers.measured is not None

    def bound_errors(self, other: Array) -> Array:
        """Return the errors against other elements in units of the bound.

        They are infinite without a bound.
        """
        bound = self.answers.bound
        if bound is None:
            return np.full(len(self.where), np.inf)
        return bound_distances(other, self.got, bound.reshape(-1)[self.where])

    @property
    def record(self) -> Op | None:
        """The record of the operation; None for the call of a function."""
        return OPS.get(self.operation.name)

    @cached_property
    def operand_elements(self) -> tuple[Array, ...] | None:
        """The operands' elements at each differing element, 1-D.

        None where shapes do not determine them, and for ops that are not elementwise.
        """
        found = broadcast_operands(self.operation, self.operands, self.expected.shape)
        return found and tuple(one.reshape(-1)[self.where] for one in found)

    def evaluate_operation(self, operands: Iterable[Array]) -> Array:
        """Return the results of the operation on other operand elements."""
        return apply(reshape_operation(self.operation, (len(self.where),)), tuple(operands))[0]

    def is_same(self, other: Array) -> Array:
        """Return a mask of the elements equal to `other`: identical bits, or both NaN."""
        return equal_elements(self.got, other)

    def is_near(self, other: Array) -> Array:
        """Return a mask of the elements within the budget of `other`."""
        near = self.is_same(other)
        if self.budget and not self.is_bounded:
            near |= ulp_distances(other, self.got) <= self.budget
        return near

    def elements(
        self, result: int, positions: Sequence[int], distances: Sequence[float]
    ) -> tuple[Element, ...]:
        """Return the differing elements at these positions, with these distances from the expected
        ones, in the form that records store.
        """
        names = () if self.record is None else self.record.operands
        read = self._read_elements(positions)
        return tuple(
            self._element(result, position, distance, dict(zip(names, arrays, strict=False)))
            for position, distance, arrays in zip(positions, distances, read, strict=True)
        )

    def _element(
        self, result: int, position: int, distance: float, read: Mapping[str, Array]
    ) -> Element:
        """Return the differing element at `position`, with the elements that it depends on by the
        operand's name.
        """
        index = np.unravel_index(int(self.where[position]), self.expected.shape)
        want, got = self.want[position : position + 1], self.got[position : position + 1]
        return Element(
            result,
            tuple(int(i) for i in index),
            decimal(want), hexadecimal(want), decimal(got), hexadecimal(got),
            distance if np.isfinite(distance) else None,
            tuple(
                (name, _some_text(decimal, array), _some_text(hexadecimal, array))
                for name, array in read.items()
            ),
        )  # fmt: skip

    def _read_elements(self, positions: Sequence[int]) -> list[tuple[Array, ...]]:
        """Return the elements of each operand that each result element depends on, if known.

        They are the elements at its position, or the factors of a sum of products.
        """
        if self.operand_elements is not None:
            return [
                tuple(element[at : at + 1] for element in self.operand_elements) for at in positions
            ]
        if self.rule.summation is None or self.number:
            return [() for _ in positions]
        flat = self.where[list(positions)]
        read = factors_read(self.operation, self.operands, self.rule.summation, flat)
        return [
            tuple(
                operand.reshape(-1)[at] for operand, at in zip(self.operands, indices, strict=False)
            )
            for indices in read
        ]


_SHOWN = 8
"""Largest number of factors of a sum that are shown."""


def _some_text(show: Callable[[Array], str], array: Array) -> str:
    """Return the elements of a 1-D array as text, the first of many."""
    left = array.size - _SHOWN
    shown = ", ".join(show(array[n : n + 1]) for n in range(min(array.size, _SHOWN)))
    return f"{shown} and {left} more" if left > 0 else shown


def decimal(array: Array) -> str:
    """Return the only element of an array in decimal, with the fewest digits that round-trip."""
    element_type = element_type_of(array)
    if element_type.is_boolean:
        return "true" if array[0] else "false"
    if element_type.is_integer:
        return str(int(array[0]))
    if element_type.is_complex:
        return f"({decimal(np.real(array))}, {decimal(np.imag(array))})"
    return str(array[0]) if element_type.bits in (32, 64) else repr(float(to_float64(array)[0]))


def hexadecimal(array: Array) -> str:
    """Return the bits of an array's only element in hexadecimal, complex parts in order."""
    element_type = element_type_of(array)
    digits = max(1, element_type.part.bits // 4)
    return ", ".join(f"0x{int(bits):0{digits}X}" for bits in to_bits(array).reshape(-1))
