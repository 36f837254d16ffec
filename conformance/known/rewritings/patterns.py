"""Algebraic rewritings as data: a pattern of operations, and what is computed in its place.

`(multiply (multiply x C) D) -> (multiply x (multiply C D))` is a pattern and a replacement, each an
operation's mnemonic and its operands in parentheses:

- a lower-case name is any value; where it stands twice it is the same value;
- an upper-case name is a constant to a compiler; where it stands twice, both have equal elements;
- a number is a constant all elements of which are that number;
- a comparison has its direction behind a dot: `compare.GE`.

Commutative operations are matched both ways. A value may be seen in another form, too: `FORMS` are
rewritings that compilers do before others, such as a quotient by an exponential as an exponential.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from conformance.catalog import rule_of
from conformance.known.rewritings.values import Predicted, Shown, flushed
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import apply
from reference.ir.monoid import ADD
from reference.ir.program import Operation, TensorType, Value
from reference.ir.types import Array, ElementType, Kind, element_type_of, from_bits, to_bits
from reference.numerics.accumulation import unit_roundoff
from reference.numerics.alike import alike, without_subnormals
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import to_float64, ulp_size
from reference.ops.table import OPS
from reference.unspecified.reduction import taken_apart

FUNCTIONS = frozenset({"exponential", "logistic", "power", "sqrt"})
"""What is seen through operations that move its elements."""

DEPTH = 2
"""How many forms are looked for of what is a form itself."""


@dataclass(frozen=True, slots=True)
class Term:
    """An operation on values, on numbers, and on other terms; `maker` is the one that a program
    has, where it only moves elements."""

    op: str
    operands: tuple[Node, ...]
    maker: Operation | None = None


Node = Term | Value | float | str
"""What stands in a pattern (a name is a string), in a replacement, and in what is matched."""

Bindings = Mapping[str, Node]
Guard = Callable[["Matcher", Node], bool]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A class of results, the pattern that an operation must match, and what is computed instead.

    `kinds` are of element types; `where` asks of what variables stand for. A result is as near its
    prediction as the operation's own tolerance says, or, with `is_exact`, the same; or, with
    `has_budget`, as near as the budgets of the functions in the replacement come to.
    """

    label: str
    text: str
    kinds: tuple[Kind, ...] = (Kind.FLOAT,)
    where: tuple[tuple[str, Guard], ...] = ()
    is_exact: bool = False
    has_budget: bool = False

    @property
    def pattern(self) -> Term:
        """What an operation must match."""
        pattern = parsed(self.text.partition("->")[0])
        assert isinstance(pattern, Term)
        return pattern

    def acts_on(self, operation: Operation) -> bool:
        """Tell whether it is a rewriting of operations of that name, a comparison's direction."""
        return self.pattern.op == as_term(operation).op

    @property
    def replacement(self) -> Node:
        """What is computed in its place."""
        return parsed(self.text.partition("->")[2])


@cache
def parsed(text: str) -> Node:
    """Return the pattern that a text spells.

    Raises:
        ValueError: when it spells none.
    """
    words = re.findall(r"[()]|[^\s()]+", text)
    node = _parsed(words)
    if words:
        raise ValueError(f"{text!r} goes on after its end: {' '.join(words)}")
    return node


def _parsed(words: list[str]) -> Node:
    if not words:
        raise ValueError("a pattern ends before it is complete")
    word = words.pop(0)
    if word != "(":
        return word if word.isidentifier() else float(word)
    op, operands = (words.pop(0) if words else ""), list[Node]()
    if not op.partition(".")[0].isidentifier():
        raise ValueError(f"an operation's mnemonic is missing before {op or 'the end'}")
    while words and words[0] != ")":
        operands.append(_parsed(words))
    if not words:
        raise ValueError(f"the operands of {op} lack their closing parenthesis")
    words.pop(0)
    return Term(op, tuple(operands))


@dataclass(frozen=True, slots=True)
class Matcher:
    """A program's values, and the rewritings by which they are seen in other forms."""

    shown: Shown
    forms: tuple[Rewriting, ...]

    def operands_matched(
        self, rewriting: Rewriting, operands: tuple[Node, ...]
    ) -> Iterator[Bindings]:
        """Yield what the variables of a pattern stand for, of the operands of its operation."""
        for bindings in self._all_bound(rewriting.pattern.operands, operands, {}, DEPTH):
            if all(guard(self, bindings[name]) for name, guard in rewriting.where):
                yield bindings

    def _matches(self, rewriting: Rewriting, node: Node, depth: int) -> Iterator[Bindings]:
        for bindings in self._bound(rewriting.pattern, node, {}, depth):
            if all(guard(self, bindings[name]) for name, guard in rewriting.where):
                yield bindings

    def _bound(self, pattern: Node, node: Node, bound: Bindings, depth: int) -> Iterator[Bindings]:
        if isinstance(pattern, float):
            value = self.value(node) if self.is_constant(node) else None
            if value is not None and bool((value == pattern).all()):
                yield bound
        elif isinstance(pattern, str):
            if pattern not in bound:
                if pattern.islower() or self.is_constant(node):
                    yield {**bound, pattern: node}
            elif bound[pattern] == node or (
                pattern.isupper() and self.is_constant(node) and self._equal(bound[pattern], node)
            ):
                yield bound
        elif isinstance(pattern, Term):
            for term in self.seen(node, pattern.op, depth):
                for operands in _orders(term):
                    yield from self._all_bound(pattern.operands, operands, bound, depth)

    def _all_bound(
        self, patterns: tuple[Node, ...], nodes: tuple[Node, ...], bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        if not patterns:
            yield bound
            return
        for found in self._bound(patterns[0], nodes[0], bound, depth):
            yield from self._all_bound(patterns[1:], nodes[1:], found, depth)

    def _equal(self, one: Node, other: Node) -> bool:
        value, second = self.value(one), self.value(other)
        if value is None or second is None or value.shape != second.shape:
            return False
        return bool(alike(value, second).all())

    def seen(self, node: Node, op: str, depth: int = DEPTH) -> Iterator[Term]:
        """Yield a node as operations of one name: as it is made, and in its other forms."""
        term = self.made(node) if isinstance(node, Value) else node
        if not isinstance(term, Term):
            return
        if term.op == op:
            yield term
        if op in FUNCTIONS and term.op in OPS and OPS[term.op].rearranges:
            for inner in self.seen(term.operands[0], op, depth):
                yield Term(op, tuple(replace(term, operands=(one,)) for one in inner.operands))
        if not depth:
            return
        for form in self.forms:
            replacement = form.replacement
            if isinstance(replacement, Term) and replacement.op == op:
                for bindings in self._matches(form, node, depth - 1):
                    built = substituted(replacement, bindings)
                    assert isinstance(built, Term)
                    yield built

    def made(self, value: Value) -> Term | None:
        """Return the operation that makes a value, as a term; None of a parameter."""
        maker = self.shown.maker(value)
        if maker is None or len(maker.results) != 1:
            return None
        return as_term(self._without_sum(maker))

    def _without_sum(self, maker: Operation) -> Operation:
        """Return a sum of one element each, and of zero, as a reshape; others as they are."""
        if maker.name != "reduce" or len(maker.operands) != PAIR:
            return maker
        given = [self.shown.known(value) for value in maker.operands]
        operands = [one for one in given if one is not None]
        if len(operands) < PAIR or not bool((operands[1] == 0).all()):
            return maker
        parts = taken_apart(maker, operands)
        is_one = parts.monoid(0) is ADD and bool((parts.leaves.counts == 1).all())
        return Operation("reshape", maker.operands[:1], maker.results) if is_one else maker

    def is_constant(self, node: Node) -> bool:
        """Tell whether a node is a constant to a compiler."""
        if isinstance(node, Value):
            return self.shown.is_folded(node)
        return not isinstance(node, Term) or all(map(self.is_constant, node.operands))

    def value(self, node: Node) -> Array | None:
        """Return what a node is; None of what is not known."""
        try:
            return self.evaluated(node, flushes=False)[0]
        except LookupError:
            return None

    def evaluated(self, node: Node, *, flushes: bool) -> tuple[Array, Array]:
        """Return what a node is, and by how much functions and roundings in it may be off.

        What is made of constants is folded, and not flushed before it is used.

        Raises:
            LookupError: a value is not known.
        """
        keeps = without_subnormals if flushes else np.asarray
        if isinstance(node, Value):
            array = self.shown.known(node)
            if array is None:
                raise LookupError(node.name)
            return keeps(array), np.zeros(array.shape)
        if not isinstance(node, Term):
            raise LookupError(node)
        flushes_within = flushes and not self.is_constant(node)
        numbers = [one for one in node.operands if isinstance(one, float)]
        pairs = [
            self.evaluated(one, flushes=flushes_within)
            for one in node.operands
            if not isinstance(one, float)
        ]
        if numbers:  # a number is the first operand, and as large as the other
            like = pairs[0][0]
            pairs.insert(0, (np.full_like(like, numbers[0]), np.zeros(like.shape)))
        result, error = _computed(node, pairs)
        return keeps(result), error


def as_term(operation: Operation) -> Term:
    """Return an operation of a program as a term, a comparison with its direction."""
    direction = operation.attribute("comparison_direction")
    name = f"{operation.name}.{direction}" if operation.name == "compare" else operation.name
    record = OPS.get(operation.name)
    moves = record is not None and record.rearranges
    return Term(name, operation.operands, operation if moves else None)


def predictions(
    shown: Shown, rewriting: Rewriting, forms: tuple[Rewriting, ...], operation: Operation
) -> Iterator[Predicted]:
    """Yield what a rewriting makes of an operation, subnormal numbers kept and flushed."""
    matcher, term = Matcher(shown, forms), as_term(operation)
    of = _element(operation.operands[0])
    if of is None or of.kind not in rewriting.kinds:
        return
    for operands in _orders(term):
        for bindings in matcher.operands_matched(rewriting, operands):
            node = substituted(rewriting.replacement, bindings)
            yield from _predicted(matcher, rewriting, node, operation)


def _predicted(
    matcher: Matcher, rewriting: Rewriting, node: Node, operation: Operation
) -> Iterator[Predicted]:
    (made,) = operation.results
    assert isinstance(made.type, TensorType)
    for flushes in (False,) if rewriting.has_budget else (False, True):
        try:
            if isinstance(node, float):
                result = np.full(made.type.static_shape, node).astype(made.type.storage)
                error = np.zeros(result.shape)
            else:
                result, error = matcher.evaluated(node, flushes=flushes)
        except LookupError:
            return
        if result.shape != made.type.static_shape or result.dtype != made.type.storage:
            return
        allowed = np.zeros(result.shape) if rewriting.is_exact else None
        if rewriting.has_budget:
            allowed = error
            if isinstance(rewriting.replacement, Term):  # its own rounding
                allowed = error + ulp_size(to_float64(result), element_type_of(result))
        predicted = Predicted(result, allowed)
        yield predicted
        if made.type.stored.is_float or made.type.stored.is_complex:
            yield flushed(predicted)


@quiet
def _computed(node: Term, pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return what an operation makes of operands that are off by so much, and what that is off."""
    arrays, errors = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if node.maker is not None:
        return tuple(
            apply(retyped(node.maker, element_type_of(one)), (one,))[0]
            for one in (arrays[0], errors[0])
        )  # type: ignore[return-value]
    if node.op in _BUILT:
        return _BUILT[node.op](*arrays), np.zeros(arrays[0].shape)
    result = OPS[node.op].evaluate(*arrays)
    of = element_type_of(result)
    if not of.is_float:
        return result, np.zeros(result.shape)
    size = np.abs(to_float64(result))
    if node.op in ("add", "subtract"):
        error = errors[0] + errors[1] + size * unit_roundoff(of)
    elif node.op == "multiply":
        x, y = (np.abs(to_float64(one)) for one in arrays)
        error = x * errors[1] + y * errors[0] + size * unit_roundoff(of)
    elif OPS[node.op].is_sign_only:
        error = errors[0]
    else:
        rule = rule_of(Operation(node.op))
        budget = 0.0 if rule is None else rule.budget(of, Hardware.CPU) or 0.0
        error = budget * ulp_size(to_float64(result), of) + size * errors[-1]
    return result, np.where(np.isfinite(error), error, 0)


def _element(value: Value) -> ElementType | None:
    of = value.type.element_type if isinstance(value.type, TensorType) else None
    return of if isinstance(of, ElementType) else None


@quiet
def _sum(x: Array, y: Array) -> Array:
    """Return x + y, or x where y is zero: zeros are left out of sums."""
    return OPS["add"].evaluate(x, y) if y.any() else x


def _shifted(x: Array, divisor: Array) -> Array:
    """Return the quotient of the bits of x, as of an unsigned integer."""
    bits, number = to_bits(x), to_bits(divisor)
    return from_bits((bits // number).astype(bits.dtype), element_type_of(x))


def _low_bits(x: Array, divisor: Array) -> Array:
    """Return the remainder of the bits of x, as of an unsigned integer."""
    bits, number = to_bits(x), to_bits(divisor)
    return from_bits((bits & (number - 1)).astype(bits.dtype), element_type_of(x))


_BUILT: dict[str, Callable[[Array, Array], Array]] = {
    "sum": _sum,
    "unsigned_quotient": _shifted,
    "unsigned_remainder": _low_bits,
}
"""What stands in replacements beside operations."""


def _orders(term: Term) -> Iterator[tuple[Node, ...]]:
    yield term.operands
    record = OPS.get(term.op)
    if record is not None and record.monoid is not None and len(term.operands) == PAIR:
        yield term.operands[::-1]


PAIR = 2


def substituted(node: Node, bindings: Bindings) -> Node:
    """Return a replacement with what its variables stand for."""
    if isinstance(node, str):
        return bindings[node]
    if isinstance(node, Term):
        return replace(node, operands=tuple(substituted(one, bindings) for one in node.operands))
    return node


def retyped(maker: Operation, of: ElementType) -> Operation:
    """Return an operation that rearranges elements of another type."""

    def changed(value: Value) -> Value:
        assert isinstance(value.type, TensorType)
        return replace(value, type=replace(value.type, element_type=of))

    operands, results = (tuple(map(changed, some)) for some in (maker.operands, maker.results))
    return replace(maker, operands=operands, results=results)
