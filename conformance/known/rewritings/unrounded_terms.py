"""Values that generated code does not round, given the backend's values in a program.

They are products, and quotients computed as products, also where a rewriting of the program
computes them. `contraction.py` adds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import prod

import numpy as np

from conformance.known.rewritings.evaluation import Evaluated, Evaluator
from conformance.known.rewritings.identities import FORMS, IDENTITIES
from conformance.known.rewritings.patterns import Matcher, Rewriting, replacements
from conformance.known.rewritings.signs import is_not_negative
from conformance.known.rewritings.terms import PAIR, Node, Term, as_term
from conformance.known.rewritings.values import ObservedProgram, ValuePrediction, flush_prediction
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, TensorType, Value, tensor_of
from reference.ir.regions import monoid_of
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, Kind, element_type_of
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
from reference.unspecified.reduction import decompose_reduction

CONTRACTED = "product taken into a sum unrounded"
QUOTIENT = "quotient taken into a sum unrounded"

_INDEX = ELEMENT_TYPES["si64"]


@dataclass(frozen=True)
class UnroundedTerm:
    """An unrounded value; with the possible error of the functions in it, and its class.

    A value of the class QUOTIENT, or of another rewriting, may differ from the program's.
    """

    value: UnroundedNumbers
    error: Array
    label: str = CONTRACTED

    def take(self, places: Array) -> UnroundedTerm:
        """Return the values at these flat indices, in the indices' shape."""
        error = np.broadcast_to(self.error, self.value.high.shape).reshape(-1)
        return replace(self, value=self.value.take(places), error=error[places])


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
            for kept in self._unchanged_operands(node):
                yield from self.unrounded_values(kept)
            if node.op in _UNROUNDED:
                yield from _UNROUNDED[node.op](self, *node.operands)
            return
        maker = self.maker(node) if isinstance(node, Value) else None
        if maker is None or len(maker.results) != 1:
            return
        if _keeps_numbers(maker):
            yield from self.unrounded_values(maker.operands[0])
        elif carried := self._moved_operands(maker):
            yield from self._moved_values(maker, carried)
        yield from self.unrounded_values(as_term(maker))
        for other in self.rewritten_terms(maker, lambda one: not is_sum_of_two(one)):
            for wide in self.unrounded_values(other):
                yield replace(wide, label=self.label)

    def _unchanged_operands(self, term: Term) -> Iterator[Node]:
        """Yield the operands that a term returns: the other is neutral, or equal in an extremum."""
        neutral = _NEUTRAL.get(term.op)
        if neutral is None or len(term.operands) != PAIR:
            return
        (lhs, rhs), monoid = term.operands, OPS[term.op].monoid
        is_repeated = monoid is not None and monoid.idempotent and lhs == rhs
        if is_repeated or self.is_equal(rhs, neutral):
            yield lhs
        if monoid is not None and self.is_equal(lhs, neutral):
            yield rhs

    def _moved_operands(self, operation: Operation) -> tuple[Value, ...]:
        """Return the operands whose elements are the results of an operation, unchanged.

        A fold of a single element with a neutral init value moves the element, too.
        """
        record, operands = OPS[operation.name], operation.operands
        if record.moves_elements and operation.name not in _STORES:
            carries = range(len(operands)) if record.carries is None else record.carries
            return tuple(operands[number] for number in carries)
        if operation.name not in ("reduce", "reduce_window") or len(operands) != PAIR:
            return ()
        monoid = monoid_of(operation.regions[0])
        if monoid is None or monoid.name not in _NEUTRAL:
            return ()
        return operands[:1] if self.is_equal(operands[1], _NEUTRAL[monoid.name]) else ()

    def _moved_values(
        self, operation: Operation, carried: Sequence[Value]
    ) -> Iterator[UnroundedTerm]:
        """Yield the values of an operation that moves elements, where some are not rounded."""
        known = [list(self.unrounded_values(value)) for value in carried]
        most = max(map(len, known))
        places = self._places(operation, carried) if most else None
        if places is None:
            return
        for number in range(most):
            parts = [
                found[min(number, len(found) - 1)] if found else self._rounded_value(value)
                for value, found in zip(carried, known, strict=True)
            ]
            present = [part for part in parts if part is not None]
            if len(present) == len(parts):
                yield _join_parts(present, carried).take(places)

    def _rounded_value(self, value: Value) -> UnroundedTerm | None:
        """Return the value as it is stored; None if it is not available."""
        found = self.number_of(value)
        return None if found is None else UnroundedTerm(unrounded_number(found[0]), found[1])

    def _places(self, operation: Operation, carried: Sequence[Value]) -> Array | None:
        """Return the flat position of each element of a result among the elements of all operands
        that are moved; None if unknown.
        """
        types = [value.type for value in (*operation.operands, *operation.results)]
        if not all(isinstance(one, TensorType) and one.is_static for one in types):
            return None
        if not OPS[operation.name].moves_elements:
            return _single_elements(operation)
        given: list[Array] = []
        start = 0
        for value in operation.operands:
            array = self.known_value(value)
            if value in carried:
                shape = tensor_of(value).static_shape
                array = np.arange(start, start + prod(shape), dtype=np.int64).reshape(shape)
                start += array.size
            if array is None:
                return None
            given.append(array)
        operands = tuple(_as_index(one) if one in carried else one for one in operation.operands)
        results = tuple(map(_as_index, operation.results))
        try:
            (found,) = apply(replace(operation, operands=operands, results=results), given)
        except EvaluationError:
            return None
        return found

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
        elif len(carried := self._moved_operands(maker)) == 1:
            found = list(self.products(carried[0]))
            places = self._places(maker, carried) if found else None
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
            ends = (rounded_sum(one.value.moved(way * error), other.value, of) for way in (1, -1))
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


def _keeps_numbers(maker: Operation) -> bool:
    """Return whether an operation returns floating-point numbers as they are: it converts them to
    their own or a wider type, or reduces their precision to their own.
    """
    if maker.name not in ("convert", "reduce_precision"):
        return False
    of, to = maker.operands[0].type, maker.results[0].type
    if not (isinstance(of, TensorType) and isinstance(to, TensorType)):
        return False
    if not (isinstance(of.element_type, ElementType) and isinstance(to.element_type, ElementType)):
        return False
    if not (of.element_type.is_float and to.element_type.is_float):
        return False
    if maker.name == "convert":
        return of.element_type == to.element_type or of.element_type.bits < to.element_type.bits
    own, given = of.element_type.float_format, maker.attribute
    return (given("exponent_bits"), given("mantissa_bits")) == (
        own.exponent_bits,
        own.mantissa_bits,
    )


def _is_repeated(maker: Operation) -> bool:
    """Return whether a broadcast repeats elements: reciprocals are computed before it."""
    if OPS[maker.name] is not OPS["broadcast_in_dim"]:
        return False
    before, after = maker.operands[0].type, maker.results[0].type
    if not (isinstance(before, TensorType) and isinstance(after, TensorType)):
        return False
    return (
        before.is_static
        and after.is_static
        and prod(before.static_shape) < prod(after.static_shape)
    )


def _negate_unrounded(model: UnroundedTerms, x: Node) -> Iterator[UnroundedTerm]:
    for wide in model.unrounded_values(x):
        yield replace(wide, value=-wide.value)


def _magnitude(model: UnroundedTerms, x: Node) -> Iterator[UnroundedTerm]:
    """Yield the operand of a magnitude that is omitted, because the operand is assumed
    nonnegative.
    """
    if isinstance(x, Value) and is_not_negative(model, x):
        yield from model.unrounded_values(x)


def _unbounded_clamp(
    model: UnroundedTerms, low: Node, x: Node, high: Node
) -> Iterator[UnroundedTerm]:
    """Yield the operand of a clamp without bounds."""
    if model.is_equal(low, -np.inf) and model.is_equal(high, np.inf):
        yield from model.unrounded_values(x)


def _complex_part(model: UnroundedTerms, x: Node, number: int) -> Iterator[UnroundedTerm]:
    """Yield the real or the imaginary part that a complex number is made of."""
    maker = model.maker(x) if isinstance(x, Value) else None
    if maker is not None and OPS[maker.name] is OPS["complex"]:
        yield from model.unrounded_values(maker.operands[number])


def _real_part(model: UnroundedTerms, x: Node) -> Iterator[UnroundedTerm]:
    """Yield the real part of a real or a complex number."""
    yield from model.unrounded_values(x)  # of real numbers: others are given as no array
    yield from _complex_part(model, x, 0)


def _numbers_of_bits(model: UnroundedTerms, x: Node) -> Iterator[UnroundedTerm]:
    """Yield numbers whose bits are taken and converted back."""
    maker = model.maker(x) if isinstance(x, Value) else None
    if maker is not None and maker.name == "bitcast_convert":
        yield from model.unrounded_values(maker.operands[0])


def _uniform_selection(
    model: UnroundedTerms, which: Node, x: Node, y: Node
) -> Iterator[UnroundedTerm]:
    """Yield the operand that a selection always returns."""
    chosen = model.constant(which) if isinstance(which, Value) else None
    if x == y or (chosen is not None and chosen.all()):
        yield from model.unrounded_values(x)
    elif chosen is not None and not chosen.any():
        yield from model.unrounded_values(y)


_STORES = ("dynamic_update_slice", "sort")
"""Ops that move elements after these are stored, and so rounded."""

_NEUTRAL = {
    "add": 0.0,
    "subtract": 0.0,
    "multiply": 1.0,
    "divide": 1.0,
    "maximum": -np.inf,
    "minimum": np.inf,
}
"""Second operands that compilers omit together with the operation; of commutative ones the first,
too.
"""

_UNROUNDED: dict[str, Callable[..., Iterator[UnroundedTerm]]] = {
    "multiply": _product,
    "power": _square,
    "divide": _quotient,
    "negate": _negate_unrounded,
    "abs": _magnitude,
    "clamp": _unbounded_clamp,
    "select": _uniform_selection,
    "bitcast_convert": _numbers_of_bits,
    "real": _real_part,
    "imag": partial(_complex_part, number=1),
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


def _as_index(value: Value) -> Value:
    """Return a value of the same shape whose elements are positions."""
    return replace(value, type=replace(tensor_of(value), element_type=_INDEX))


def _join_parts(parts: Sequence[UnroundedTerm], values: Sequence[Value]) -> UnroundedTerm:
    """Return the elements of several values, flat. Parts are broadcast to the values' shapes."""
    shapes = [tensor_of(value).static_shape for value in values]
    high, low, error = (
        np.concatenate(
            [np.broadcast_to(*one).reshape(-1) for one in zip(arrays, shapes, strict=True)]
        )
        for arrays in (
            [part.value.high for part in parts],
            [part.value.low for part in parts],
            [part.error for part in parts],
        )
    )
    labels = [part.label for part in parts if part.label != CONTRACTED]
    return UnroundedTerm(UnroundedNumbers(high, low), error, (*labels, CONTRACTED)[0])


def _single_elements(operation: Operation) -> Array | None:
    """Return the flat position of the only element of each slice or window of a fold.

    None if a slice or window has several elements or padding, or if the result has another type.
    """
    of, to = tensor_of(operation.operands[0]), tensor_of(operation.results[0])
    if of.element_type != to.element_type:
        return None
    zeros = (np.zeros(of.static_shape, of.stored.storage), np.zeros((), of.stored.storage))
    leaves = decompose_reduction(operation, zeros).leaves
    if (leaves.counts != 1).any():
        return None
    numbers = np.arange(1, zeros[0].size + 1).reshape(zeros[0].shape)
    places = leaves.fold(np.add, numbers, 0, 0) - 1
    return None if (places < 0).any() else places


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
