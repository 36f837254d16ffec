"""Values that generated code does not round, given the backend's values in a program.

They are products, and quotients computed as products, also where a rewriting of the program
computes them. `sums.py` adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from conformance.known.rewritings.contraction.moves import (
    CONTRACTED,
    UnroundedTerm,
    join_parts,
    moved_operands,
    positions,
)
from conformance.known.rewritings.evaluation import Evaluated, Evaluator
from conformance.known.rewritings.identities import FORMS, IDENTITIES, SIMPLIFICATIONS
from conformance.known.rewritings.patterns import Matcher, Rewriting, replacements
from conformance.known.rewritings.terms import Node, Term, as_term, substitute
from conformance.known.rewritings.values import ObservedProgram, ValuePrediction, flush_prediction
from conformance.transforms.retype import element_of
from conformance.transforms.values import can_be_result, element_count
from reference.ir.program import Operation, Value
from reference.ir.types import Array, ElementType, Kind, element_type_of
from reference.numerics.alike import flush_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64
from reference.numerics.unrounded import (
    UnroundedNumbers,
    rounded_sum,
    unrounded_number,
    unrounded_product,
)
from reference.ops.table import OPS

QUOTIENT = "quotient taken into a sum unrounded"


@dataclass(frozen=True)
class UnroundedTerms(ObservedProgram):
    """Values of a program, some unrounded; with or without flushing.

    `label` is the class of the unrounded values: CONTRACTED, QUOTIENT, or the class of the
    rewriting that computes them.
    """

    flushes: bool
    label: str = CONTRACTED

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self, FORMS)

    @property
    def evaluator(self) -> Evaluator:
        """Evaluator of terms over the values of the program."""
        return self._matcher.evaluator

    def number_of(self, node: Node) -> Evaluated | None:
        """Return floating-point numbers and their possible error; None if not available.

        Values are the backend's.
        """
        if isinstance(node, float):
            return np.array(node), np.zeros(())
        try:
            array, error = self.evaluator.evaluate(node, flushes=self.flushes)
        except LookupError:
            return None
        return (array, error) if element_type_of(array).is_float else None

    def is_equal(self, node: Node, number: float) -> bool:
        """Return whether a compiler sees a node as a constant whose elements all equal a number."""
        return self.evaluator.is_constant(node) and self.has_all(node, number)

    def has_all(self, node: Node, number: float) -> bool:
        """Return whether all elements of a node's value equal a number."""
        found = self.number_of(node)
        return found is not None and bool((to_float64(found[0]) == number).all())

    def unrounded_values(self, node: Node) -> Iterator[UnroundedTerm]:
        """Yield the values of an operation whose result is not rounded."""
        if isinstance(node, Term):
            if node.maker is None:
                for simple in self._simplified(node):
                    yield from self.unrounded_values(simple)
            if node.op in _UNROUNDED:
                yield from _UNROUNDED[node.op](self, *node.operands)
            return
        maker = self.maker(node) if isinstance(node, Value) else None
        if maker is None or len(maker.results) != 1:
            return
        if _is_widening(maker):
            yield from self.unrounded_values(maker.operands[0])
        elif carried := moved_operands(maker):
            yield from self._moved_values(maker, carried)
        yield from self.unrounded_values(as_term(maker))
        for other in self.rewritten_terms(maker, lambda one: not is_sum_of_two(one)):
            for wide in self.unrounded_values(other):
                yield replace(wide, label=self.label)

    def _simplified(self, term: Term) -> Iterator[Node]:
        """Yield what a simplifier computes instead of a term of a rewriting."""
        for one in SIMPLIFICATIONS:
            if one.pattern.op == term.op:
                for bindings in self._matcher.matches_of_term(one.pattern, term):
                    yield substitute(one.replacement, bindings)

    def _moved_values(
        self, operation: Operation, carried: Sequence[Value]
    ) -> Iterator[UnroundedTerm]:
        """Yield the values of an operation that moves elements, where some are not rounded."""
        known = [list(self.unrounded_values(value)) for value in carried]
        most = max(map(len, known))
        places = positions(self, operation, carried) if most else None
        if places is None:
            return
        for number in range(most):
            parts = [
                found[min(number, len(found) - 1)] if found else self._rounded_value(value)
                for value, found in zip(carried, known, strict=True)
            ]
            present = [part for part in parts if part is not None]
            if len(present) == len(parts):
                yield join_parts(present, carried).take(places)

    def _rounded_value(self, value: Value) -> UnroundedTerm | None:
        """Return the value as it is stored; None if it is not available."""
        found = self.number_of(value)
        return None if found is None else UnroundedTerm(unrounded_number(found[0]), found[1])

    def rewritten_terms(
        self, operation: Operation, selected: Callable[[Term], bool]
    ) -> Iterator[Term]:
        """Yield what the model's rewriting computes instead of an operation, if selected."""
        for one in _class_rewritings(self.label):
            if one.acts_on(operation):
                for node in replacements(self._matcher, one, operation):
                    if isinstance(node, Term) and selected(node):
                        yield node

    def unrounded_operands(self, *values: Node) -> Iterator[tuple[int, UnroundedTerm]]:
        """Yield each unrounded form of the given values, with the index of the value.

        They are of the model's class, or contracted products. Nothing is yielded if none is of the
        model's class.
        """
        found = [
            (number, wide)
            for number, value in enumerate(values)
            for wide in self.unrounded_values(value)
            if wide.label in (CONTRACTED, self.label)
        ]
        if any(wide.label == self.label for _, wide in found):
            yield from found

    def products(self, value: Value) -> Iterator[tuple[UnroundedNumbers, UnroundedNumbers]]:
        """Yield the pairs of products whose sum is a value."""
        maker = self.maker(value)
        if maker is None:
            return
        if OPS[maker.name] is OPS["add"]:
            lhs, rhs = (list(self.unrounded_values(one)) for one in maker.operands)
            yield from ((one.value, other.value) for one in lhs for other in rhs)
        elif len(carried := moved_operands(maker)) == 1:
            found = list(self.products(carried[0]))
            places = positions(self, maker, carried) if found else None
            if places is not None:
                yield from ((one.take(places), other.take(places)) for one, other in found)

    def complex_factors(self, value: Value) -> tuple[Array, Array] | None:
        """Return the two factors of a complex product."""
        maker = self.maker(value)
        if maker is None or OPS[maker.name] is not OPS["multiply"]:
            return None
        found = [self.values.get(one.name) for one in maker.operands]
        if found[0] is None or found[1] is None or not element_type_of(found[0]).is_complex:
            return None
        return found[0], found[1]

    def rounded_sum(
        self, one: UnroundedTerm, other: UnroundedTerm, of: ElementType
    ) -> ValuePrediction:
        """Return the sum of two values, rounded once."""
        result = rounded_sum(one.value, other.value, of)
        error = one.error + other.error
        distance = np.zeros(result.shape)
        if error.any():
            ends = (
                rounded_sum(one.value.add_correction(way * error), other.value, of)
                for way in (1, -1)
            )
            with np.errstate(all="ignore"):
                off = [np.abs(to_float64(end) - to_float64(result)) for end in ends]
            distance = np.where(np.isfinite(off), off, 0).max(axis=0)
        return replace(self.round_prediction(result), error=distance)

    def round_prediction(self, result: Array) -> ValuePrediction:
        """Return a prediction, rounded to the type of a result."""
        found = ValuePrediction(result, np.zeros(result.shape))
        return flush_prediction(found) if self.flushes else found


def _product(model: UnroundedTerms, x: Node, y: Node) -> Iterator[UnroundedTerm]:
    lhs, rhs = model.number_of(x), model.number_of(y)
    if lhs is not None and rhs is not None:
        yield _exact_product(lhs, rhs)


@quiet
def _exact_product(one: Evaluated, other: Evaluated, label: str = CONTRACTED) -> UnroundedTerm:
    """Return the product of two values, with its error from theirs."""
    (x, error_of_x), (y, error_of_y) = one, other
    error = np.abs(to_float64(x)) * error_of_y + np.abs(to_float64(y)) * error_of_x
    return UnroundedTerm(unrounded_product(x, y), np.where(np.isfinite(error), error, 0), label)


def _square(model: UnroundedTerms, x: Node, y: Node) -> Iterator[UnroundedTerm]:
    """Return x^2, which is computed as a product."""
    if model.is_equal(y, 2):
        yield from _product(model, x, x)


def _quotient(model: UnroundedTerms, x: Node, y: Node) -> Iterator[UnroundedTerm]:
    dividend, divisor = model.number_of(x), model.number_of(y)
    if dividend is None or divisor is None:
        return
    maker = model.maker(y) if isinstance(y, Value) else None
    if model.evaluator.is_constant(y) or (maker is not None and _is_repeated(maker)):
        for reciprocal in _reciprocals(divisor[0]):
            kept = flush_subnormals(reciprocal) if model.flushes else reciprocal
            yield _exact_product(dividend, (kept, np.zeros(kept.shape)), QUOTIENT)
    if maker is not None and OPS[maker.name] is OPS["divide"]:
        one, other = maker.operands
        factor = model.number_of(other)
        if factor is not None and model.has_all(one, 1):
            yield _exact_product(dividend, factor, QUOTIENT)


def _is_widening(maker: Operation) -> bool:
    """Return whether an operation converts floating-point numbers to a wider type."""
    if maker.name != "convert":
        return False
    of, to = (element_of(one) for one in (*maker.operands, *maker.results))
    return of is not None and to is not None and of.is_float and to.is_float and of.bits < to.bits


def _is_repeated(maker: Operation) -> bool:
    """Return whether a broadcast repeats elements: reciprocals are computed before it."""
    if OPS[maker.name] is not OPS["broadcast_in_dim"]:
        return False
    values = (*maker.operands, *maker.results)
    if not all(map(can_be_result, values)):
        return False
    before, after = map(element_count, values)
    return before < after


def _negate_unrounded(model: UnroundedTerms, x: Node) -> Iterator[UnroundedTerm]:
    for wide in model.unrounded_values(x):
        yield replace(wide, value=-wide.value)


_UNROUNDED: dict[str, Callable[..., Iterator[UnroundedTerm]]] = {
    "multiply": _product,
    "power": _square,
    "divide": _quotient,
    "negate": _negate_unrounded,
}
"""Functions that yield the unrounded values of an operation, by its name."""


def _reciprocals(divisor: Array) -> Iterator[Array]:
    """Yield 1 / divisor rounded to its type, and to f32, in which narrower types are computed."""
    of = element_type_of(divisor)
    with np.errstate(all="ignore"):
        exact = 1 / to_float64(divisor)
    yield round_to(exact, of)
    if of.bits < 32:
        yield exact.astype(np.float32)


SIGNS = {"add": 1, "sum": 1, "subtract": -1}
"""Sign of the second operand of sums and differences."""


def is_sum_of_two(term: Term) -> bool:
    """Return whether a term is the sum or the difference of two operands."""
    return term.op in SIGNS


def _class_rewritings(label: str) -> tuple[Rewriting, ...]:
    """Return the rewritings of a class that compute products or sums."""
    return tuple(one for one in IDENTITIES if one.label == label and _can_contract(one))


def _can_contract(rewriting: Rewriting) -> bool:
    node = rewriting.replacement
    if Kind.FLOAT not in rewriting.kinds or not isinstance(node, Term):
        return False
    is_sum = is_sum_of_two(node) and rewriting.pattern.op in SIGNS
    return is_sum or node.op in ("multiply", "power", "divide")


CONTRACTIBLE = tuple(dict.fromkeys(one.label for one in IDENTITIES if _can_contract(one)))
"""The classes of rewritings that compute products, or sums that products may be contracted with."""
