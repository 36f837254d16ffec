"""Algebraic rewritings as data: a pattern of operations and its replacement.

`(multiply (multiply x C) D) -> (multiply x (multiply C D))`, in the language of terms.py. A value
may be seen in another form, too: forms are rewritings that compilers do before others, such as a
quotient by an exponential as an exponential.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from conformance.known.rewritings.conditions import CONDITIONS
from conformance.known.rewritings.evaluation import Evaluator
from conformance.known.rewritings.narrow.floats import ProgramInF32, is_narrow
from conformance.known.rewritings.terms import (
    Bindings,
    Node,
    Term,
    Variable,
    as_term,
    binding_key,
    operand_orders,
    parse_term,
    substitute,
)
from conformance.known.rewritings.values import (
    ObservedProgram,
    Predictions,
    ValuePrediction,
    flush_prediction,
)
from conformance.transforms.retype import element_of
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, Kind, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import to_float64, ulp_size

FUNCTIONS = frozenset({"convert", "exponential", "logistic", "negate", "power", "sqrt"})
"""Functions whose forms are visible through operations that move elements."""

DEPTH = 2
"""Largest depth at which a form of an operation may have forms of its operands."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A rewriting: its class, the pattern of operations, and the replacement that is computed.

    `kinds` are the kinds of element types to which it applies. A result matches if it is within the
    operation's tolerance of its prediction. With `is_exact` it must equal the prediction; with
    `has_budget` it must be within the budgets of the functions in the replacement; with `ulps`,
    within this number of ulp. If `flushes`, subnormal numbers are flushed; if false, they are kept;
    None tries both.
    """

    label: str
    text: str
    kinds: tuple[Kind, ...] = (Kind.FLOAT,)
    is_exact: bool = False
    has_budget: bool = False
    ulps: float | None = None
    flushes: bool | None = None

    @property
    def pattern(self) -> Term:
        """Pattern that an operation must match."""
        pattern = parse_term(self.text.partition("->")[0])
        assert isinstance(pattern, Term)
        return pattern

    def acts_on(self, operation: Operation) -> bool:
        """Return whether the pattern's root has the operation's name and comparison direction."""
        return self.pattern.op == as_term(operation).op

    @property
    def replacement(self) -> Node:
        """Term that is computed instead."""
        return parse_term(self.text.partition("->")[2])


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finds the values of a program that match a pattern, also if their operations are written in
    another form.
    """

    shown: ObservedProgram
    forms: tuple[Rewriting, ...]
    evaluator: Evaluator = field(init=False)

    def __post_init__(self) -> None:
        """Create the evaluator of the program's values."""
        object.__setattr__(self, "evaluator", Evaluator(self.shown))

    def matches(self, pattern: Term, operation: Operation) -> Iterator[Bindings]:
        """Yield the bindings of a pattern's names, for each match of an operation."""
        if self._meets(pattern.condition, operation.results[0]):
            yield from self.matches_of_term(pattern, as_term(operation))

    def matches_of_term(self, pattern: Term, term: Term) -> Iterator[Bindings]:
        """Yield the bindings of a pattern's names, for each match of a term."""
        for operands in operand_orders(term, pattern):
            yield from self._all_bound(pattern, operands, _extend_bindings({}, term), DEPTH)

    def _bindings_of(
        self, pattern: Node, node: Node, bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        if isinstance(pattern, float):
            value = self.evaluator.value(node) if self.evaluator.is_constant(node) else None
            if value is not None and bool((value == pattern).all()):
                yield bound
        elif isinstance(pattern, Variable):
            if self._may_be(pattern, node, bound):
                yield {pattern.name: node, **bound}
        elif isinstance(pattern, Term) and self._meets(pattern.condition, node):
            for term in self.operations_named(node, pattern.op, depth):
                for operands in operand_orders(term, pattern):
                    yield from self._all_bound(
                        pattern, operands, _extend_bindings(bound, term), depth
                    )

    def _may_be(self, pattern: Variable, node: Node, bound: Bindings) -> bool:
        if pattern.is_constant and not self.evaluator.is_constant(node):
            return False
        if not self._meets(pattern.condition, node):
            return False
        before = bound.get(pattern.name)
        return (
            before is None or before == node or (pattern.is_constant and self._equal(before, node))
        )

    def _meets(self, condition: str, node: Node) -> bool:
        return not condition or CONDITIONS[condition](self.evaluator, node)

    def _all_bound(
        self, pattern: Term, nodes: tuple[Node, ...], bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        missing = len(pattern.operands) - len(nodes)
        if missing > 0 or (missing < 0 and not pattern.is_open):
            return
        if not pattern.operands:
            yield bound
            return
        rest = replace(pattern, operands=pattern.operands[1:])
        for found in self._bindings_of(pattern.operands[0], nodes[0], bound, depth):
            yield from self._all_bound(rest, nodes[1:], found, depth)

    def _equal(self, one: Node, other: Node) -> bool:
        value, second = self.evaluator.value(one), self.evaluator.value(other)
        if value is None or second is None or value.shape != second.shape:
            return False
        return bool(equal_elements(value, second).all())

    def operations_named(self, node: Node, op: str, depth: int = DEPTH) -> Iterator[Term]:
        """Yield a node as operations of one name: its defining operation, and its other forms."""
        term = self.evaluator.term_of(node) if isinstance(node, Value) else node
        if not isinstance(term, Term):
            return
        if term.op == op:
            yield term
        if op in FUNCTIONS and term.moves:
            for inner in self.operations_named(term.operands[0], op, depth):
                yield Term(op, tuple(replace(term, operands=(one,)) for one in inner.operands))
        if not depth:
            return
        for form in self.forms:
            replacement = form.replacement
            if isinstance(replacement, float):
                continue
            if isinstance(replacement, Term) and replacement.op != op:
                continue
            for bindings in self._bindings_of(form.pattern, node, {}, depth - 1):
                built = substitute(replacement, bindings)
                if isinstance(replacement, Term):
                    assert isinstance(built, Term)
                    yield built
                else:
                    yield from self.operations_named(built, op, depth - 1)


def _extend_bindings(bound: Bindings, term: Term) -> Bindings:
    """Return the bindings extended by a term, if the name is unbound or bound to the same term."""
    return {binding_key(term.op): term, **bound}


def predictions(
    shown: ObservedProgram, rewriting: Rewriting, forms: tuple[Rewriting, ...], operation: Operation
) -> Predictions:
    """Yield the results of a rewriting of an operation, with subnormals kept and flushed.

    Of numbers narrower than f32 also without rounding before the end, in f32.
    """
    matcher = Matcher(shown, forms)
    evaluators = [matcher.evaluator]
    if is_narrow(operation.results[0]):
        evaluators.append(Evaluator(ProgramInF32(shown.program, shown.values)))
    for node in replacements(matcher, rewriting, operation):
        for evaluator in evaluators:
            yield from _predict_rewriting(evaluator, rewriting, node, operation)


def replacements(matcher: Matcher, rewriting: Rewriting, operation: Operation) -> Iterator[Node]:
    """Yield the terms that a rewriting computes instead of an operation."""
    of = element_of(operation.operands[0])
    if of is None or of.kind not in rewriting.kinds or len(operation.results) != 1:
        return
    for bindings in matcher.matches(rewriting.pattern, operation):
        yield substitute(rewriting.replacement, bindings)


def _predict_rewriting(
    evaluator: Evaluator, rewriting: Rewriting, node: Node, operation: Operation
) -> Predictions:
    (made,) = operation.results
    assert isinstance(made.type, TensorType)
    for flushes in _flush_choices(rewriting):
        try:
            if isinstance(node, float):
                result = np.full(made.type.static_shape, node).astype(made.type.storage)
                error = np.zeros(result.shape)
            else:
                result, error = evaluator.evaluate(node, flushes=flushes)
        except LookupError:
            return
        result = evaluator.shown.as_result(result, made)
        if result.shape != made.type.static_shape or result.dtype != made.type.storage:
            return
        predicted = ValuePrediction(
            result, _permitted_distance(rewriting, result, error), ulps=rewriting.ulps
        )
        yield predicted
        if rewriting.flushes is None and (made.type.stored.is_float or made.type.stored.is_complex):
            yield flush_prediction(predicted)


def _flush_choices(rewriting: Rewriting) -> tuple[bool, ...]:
    """Return whether intermediate subnormals are flushed: one choice, or both."""
    if rewriting.flushes is not None:
        return (rewriting.flushes,)
    return (False,) if rewriting.has_budget else (False, True)


def _permitted_distance(rewriting: Rewriting, result: Array, error: Array) -> Array | None:
    """Return the permitted distance of results; None for the operation's own tolerance."""
    if rewriting.is_exact:
        return np.zeros(result.shape)
    if not rewriting.has_budget:
        return None
    if isinstance(rewriting.replacement, Term):  # its own rounding
        return error + ulp_size(to_float64(result), element_type_of(result))
    return error
