"""Judging and counting of a function's results on many arguments, by its op's rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from conformance.judging.classify import classify_elements, codes_without_accuracy
from conformance.judging.compare import describe_malformed
from conformance.judging.differences import DifferingElements
from conformance.judging.joint_results import JointResults
from conformance.judging.messages import elements_message
from conformance.judging.questions import ElementClasses
from conformance.known.in_force import hypotheses_of
from conformance.sweep.arguments import Domain
from conformance.sweep.evaluation import Differences, differences_of
from conformance.sweep.function import Function
from conformance.sweep.outcome import ClassCount, Edges, SweepOutcome, hexadecimal
from conformance.sweep.properties import (
    Properties,
    falls,
    is_like,
    properties_of,
    rises,
)
from conformance.tolerance.hardware import Hardware
from conformance.tolerance.rule import Rule
from conformance.tolerance.ulp import error_histogram, ulp_distances
from conformance.verdict import HISTOGRAM_EDGES, Element, Verdict
from reference.ir.types import Array, ElementType, element_type_of, to_bits
from reference.numerics.alike import equal_elements, is_subnormal
from reference.numerics.rounding import to_float64, ulp_size

SECTIONS = 8
"""Number of positions on the axis per power of two, for types of 16 and 32 bits."""


def outcome_of(
    domain: Domain,
    operands: tuple[Array, ...],
    actual: Array,
    hardware: Hardware,
    worst_before: float = -1.0,
) -> SweepOutcome:
    """Judge the results of one execution.

    Args:
        domain: the function with its arguments.
        operands: the arguments of this execution.
        actual: the results.
        hardware: the kind of hardware whose tolerance figures apply.
        worst_before: the largest error of earlier results, in ulp: the worst result is left out
            unless its error is larger.
    """
    function, total = domain.function, len(operands[0])
    shape = np.broadcast_to(np.empty((), function.result_type.storage), (total,))
    bad = describe_malformed((shape,), (actual,))
    if bad is not None:
        return _malformed_outcome(total, *bad)
    rule = function.rule.hardware_rule(hardware)
    budget = rule.budget(function.result_type, hardware)
    is_ordered = domain.is_mirrored or domain.is_exhaustive
    differences = differences_of(function, operands, actual, is_ordered=is_ordered)
    sides = _sides(operands[0], actual) if domain.is_mirrored else None
    edges = None if sides is None else _edges(sides)
    if not len(differences.where):
        return _all_right(total, function.result_type, budget, edges)
    judged = _ResultJudge(function, operands, differences, actual, hardware, rule, budget)
    judged.judge()
    properties = properties_of(function) if domain.is_mirrored else Properties()
    return SweepOutcome(
        values=total,
        right=total - len(differences.where) + judged.alike,
        budget=budget,
        worst=judged.worst(worst_before),
        histogram=judged.histogram(),
        classes=judged.classes(),
        inversions=0 if sides is None else _inversions(sides, properties),
        asymmetries=0 if sides is None else _asymmetries(sides, properties),
        edges=edges,
        axis=judged.axis() if domain.is_mirrored else {},
    )


def _all_right(
    total: int, element_type: ElementType, budget: float | None, edges: Edges | None
) -> SweepOutcome:
    """Return the outcome if all results are correctly rounded, which preserves the function's
    properties.
    """
    has_ulp = _has_ulp(element_type, budget)
    histogram = (total, *(0 for _ in HISTOGRAM_EDGES)) if has_ulp else ()
    return SweepOutcome(
        values=total, right=total, budget=budget, histogram=histogram,
        classes=_passing_classes(total), edges=edges,
    )  # fmt: skip


def _has_ulp(element_type: ElementType, budget: float | None) -> bool:
    return (element_type.is_float or element_type.is_complex) and budget is not None


def _malformed_outcome(total: int, kind: str, message: str) -> SweepOutcome:
    one = ClassCount(verdict=Verdict.DIVERGENT, kind=kind, count=total, message=message)
    return SweepOutcome(values=total, right=0, classes=(one,))


class _ResultJudge:
    """Judgement of the results whose bits differ from the expected results.

    Most of them are within the budget, and are counted by a few operations on whole arrays. Only
    the others are classified as in a run.
    """

    def __init__(
        self,
        function: Function,
        operands: tuple[Array, ...],
        differences: Differences,
        actual: Array,
        hardware: Hardware,
        rule: Rule,
        budget: float | None,
    ) -> None:
        """Take the results, the differing results, and the rule with its budget."""
        self.function, self.operands, self.exact = function, operands, differences.exact
        self.actual, self.hardware, self.rule, self.budget = actual, hardware, rule, budget
        self.where = where = differences.where
        self.want, self.got = differences.expected, actual[where]
        self.has_ulp = _has_ulp(function.result_type, budget)
        self.distances = ulp_distances(self.want, self.got) if self.has_ulp else np.empty(0)
        self.same = equal_elements(self.want, self.got)
        self.alike = int(np.count_nonzero(self.same))
        self.counted = np.ones(len(where), np.bool_)
        self.found: tuple[DifferingElements, ElementClasses] | None = None
        self.errors: Array | None = None

    def judge(self) -> None:
        """Mark permitted results first, and classify the rest."""
        rest = np.flatnonzero(~self._is_permitted())
        if rest.size:
            operation = self.function.operation(len(self.actual))
            differing = self._differing_elements(operation, self.where[rest])
            findings = classify_elements(differing)
            self.found = differing, findings
            measured = ~np.isin(findings.codes, codes_without_accuracy(findings))
            failing = [n for n, (verdict, _) in enumerate(findings.table) if verdict.fails]
            measured &= ~(np.isin(findings.codes, failing) & self._has_subnormal(rest))
            self.counted[rest] = measured
        if self.has_ulp:
            self.counted &= np.isfinite(self.distances)

    def _is_permitted(self) -> Array:
        of = self.function.result_type
        if not of.is_float or self.rule.nan_bits:
            return np.zeros(len(self.where), np.bool_)
        permitted = self.same & np.isnan(self.want)
        if not self.budget or not len(self.where):
            return permitted
        want, got = to_float64(self.want), to_float64(self.got)
        near = (self.distances <= self.budget) & (np.signbit(want) == np.signbit(got))
        near &= np.isfinite(want) & np.isfinite(got)
        if self.rule.range is not None:
            low, high = self.rule.range
            near &= (got >= low) & (got <= high)
        return permitted | near

    def _has_subnormal(self, rest: Array) -> Array:
        """Return a mask of positions where an argument, expected or actual result is subnormal.

        Failures at such numbers mostly come from flushing, which says nothing about accuracy.
        """
        operands = (operand[self.where[rest]] for operand in self.operands)
        found = np.zeros(len(rest), np.bool_)
        for array in (*operands, self.want[rest], self.got[rest]):
            found |= is_subnormal(array)
        return found

    @cached_property
    def expected(self) -> Array:
        """All correctly rounded results."""
        whole = self.actual.copy()
        whole[self.where] = self.want
        return whole

    def _differing_elements(self, operation: Any, where: Array) -> DifferingElements:
        expected, actual = self.expected, self.actual
        own = JointResults(self.rule, lambda: (operation, self.operands), (expected,), (actual,))
        folded = (False,) * self.function.arity
        return DifferingElements(
            operation, self.operands, expected, actual, where, self.rule, self.budget,
            self.hardware, 0, own.rule_answers(0), (actual,),
            hypotheses_of(operation, folded), partial(own.measured_errors, number=0),
        )  # fmt: skip

    def classes(self) -> tuple[ClassCount, ...]:
        """Return how many results have each verdict and class, those that pass among them."""
        total = len(self.actual)
        if self.found is None:
            return _passing_classes(total)
        differing, findings = self.found
        others: list[ClassCount] = []
        for code, (verdict, kind) in enumerate(findings.table):
            positions = np.flatnonzero(findings.codes == code)
            if verdict is not Verdict.PASS and positions.size:
                given = (positions, differing, total, findings.detail(code))
                others.append(_count(verdict, kind, *given))
        return (*_passing_classes(total - sum(one.count for one in others)), *others)

    def _real_errors(self) -> Array:
        """Return the errors of the counted results, in ulp of the exact value where it is known."""
        if self.errors is None:
            where, distances = self.where[self.counted], self.distances[self.counted]
            self.errors = distances
            if self.exact is not None and where.size:
                exact = self.exact(np.flatnonzero(self.counted))
                got = to_float64(self.got[self.counted]).astype(exact.dtype)
                with np.errstate(all="ignore"):
                    unit = ulp_size(exact, self.function.result_type)
                    errors = (np.abs(got - exact) / unit).astype(np.float64)
                self.errors = np.where(np.isfinite(errors), errors, distances)
        return self.errors

    def worst(self, before: float) -> Element | None:
        """Return the counted result with the largest error; None where all are right.

        None also where the error is not larger than `before`.
        """
        wrong = self.has_ulp and bool((self.counted & (self.distances > 0)).any())
        if not wrong:
            return None
        errors = self._real_errors()
        position = int(np.argmax(errors))
        if not errors[position] > before:
            return None
        at = int(self.where[self.counted][position])
        operation = self.function.operation(len(self.actual))
        one = self._differing_elements(operation, np.array([at]))
        (shown,) = one.elements(0, [0], [float(errors[position])])
        return shown

    def histogram(self) -> tuple[int, ...]:
        """Return the number of counted results by error in whole ulp."""
        if not self.has_ulp:
            return ()
        bins = error_histogram(self.distances[self.counted])
        bins[0] += len(self.actual) - len(self.where)
        return tuple(bins)

    def axis(self) -> dict[int, float]:
        """Return the largest error at each position of the axis where it is nonzero."""
        if not self.has_ulp or not self.counted.any():
            return {}
        positions = axis_positions(self.operands[0][self.where[self.counted]])
        errors = self._real_errors()
        starts = np.flatnonzero(np.diff(positions, prepend=-1))
        largest = np.maximum.reduceat(errors, starts)
        pairs = zip(positions[starts].tolist(), largest.tolist(), strict=True)
        return {place: round(error, 4) for place, error in pairs if error > 0}


def axis_positions(operand: Array) -> Array:
    """Return the positions of arguments on the axis: their codes without the last bits."""
    element_type = element_type_of(operand)
    return (to_bits(operand) >> axis_shift(element_type)).astype(np.int64)


def axis_shift(element_type: ElementType) -> Any:
    """Return the number of low bits of a code that its position on the axis ignores."""
    sections = 0 if element_type.bits == 64 else SECTIONS.bit_length() - 1
    return to_bits(np.zeros(1, element_type.storage)).dtype.type(
        max(0, element_type.float_format.mantissa_bits - sections)
    )


def _passing_classes(count: int) -> tuple[ClassCount, ...]:
    return (ClassCount(verdict=Verdict.PASS, kind="", count=count),) if count else ()


def _count(
    verdict: Verdict,
    kind: str,
    positions: Array,
    differing: DifferingElements,
    total: int,
    detail: str,
) -> ClassCount:
    distances = differing.distances[positions]
    order = positions[np.argmax(np.nan_to_num(distances, posinf=1e300))]
    (shown,) = differing.elements(0, [int(order)], [float(differing.distances[order])])
    measured = distances[np.isfinite(distances)]
    return ClassCount(
        verdict=verdict,
        kind=kind,
        count=len(positions),
        message=elements_message(verdict, kind, len(positions), total, shown, detail=detail),
        worst_ulp=float(measured.max()) if measured.size else None,
        shown=shown,
    )


def _sides(operand: Array, actual: Array) -> tuple[Array, Array]:
    """Return the results of positive and of negative arguments, without NaN arguments."""
    numbers = half = len(actual) // 2
    if np.isnan(operand[half - 1]):  # magnitudes ascend, NaN last
        numbers -= int(np.count_nonzero(np.isnan(operand[:half])))
    return actual[:numbers], actual[half : half + numbers]


def _inversions(sides: tuple[Array, Array], properties: Properties) -> int:
    directions = (properties.positive, properties.negative)
    pairs = zip(sides, directions, strict=True)
    return sum(falls(side) if to > 0 else rises(side) for side, to in pairs if to)


def _asymmetries(sides: tuple[Array, Array], properties: Properties) -> int:
    if not properties.parity:
        return 0
    return int(np.count_nonzero(~is_like(*sides, properties.parity)))


def _edges(sides: tuple[Array, Array]) -> Edges | None:
    if not len(sides[0]):
        return None
    element_type = element_type_of(sides[0])
    ends = [side[at : at + 1 or None] for side in sides for at in (0, -1)]
    numbers: Sequence[Any] = [to_float64(e)[0] if element_type.is_float else e[0] for e in ends]
    first, last, below, end = (hexadecimal(float(number)) for number in numbers)
    return first, last, below, end
