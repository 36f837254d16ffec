"""A program as a simplifier leaves it: without operations that return an operand unchanged.

A factor of 1, a branch that is always taken, a body that returns its argument, an update of a whole
array: a compiler removes such operations before it folds constants and contracts products. The
rewritings of an operation are therefore tried in the simplified program, too.

SIMPLIFICATIONS in identities.py are patterns; steps.py has the operations with regions and sizes.
Source: jaxlib 0.10.2 and 0.12.0.1, measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from conformance.known.rewritings.identities import SIMPLIFICATIONS
from conformance.known.rewritings.patterns import Matcher
from conformance.known.rewritings.simplified.inlining import Replacement
from conformance.known.rewritings.simplified.steps import STEPS, values_kept_by_loop
from conformance.known.rewritings.terms import Node, Term, substitute
from conformance.known.rewritings.values import ObservedProgram
from conformance.transforms.extract import replace_body
from conformance.transforms.values import FoldableValues, element_count, static_element_type
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, Program, Value, tensor_of
from reference.ir.substitution import replace_operands
from reference.ir.types import Array

_MOST_FOLDED = 4096
"""Largest number of elements of a constant that is computed here."""


@dataclass(frozen=True, slots=True)
class SimplifiedProgram:
    """A simplified program, and the values that it has in place of others, by the others' names.

    `folded` are the values of the original program that a compiler folds once it is simplified.
    """

    program: Program
    replaced: Mapping[str, Value]
    folded: frozenset[str]
    is_changed: bool

    def operation(self, name: str) -> Operation | None:
        """Return the operation of main with a result of this name; None if it was removed."""
        operations = self.program.main.body.operations[:-1]
        makers = (one for one in operations if any(value.name == name for value in one.results))
        return next(makers, None)

    def complete_values(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """Return the backend's values, and the values of inlined regions that follow from them."""
        found = dict(values)
        for one in self.program.main.body.operations[:-1]:
            operands = [found[value.name] for value in one.operands if value.name in found]
            if len(one.results) != 1 or one.results[0].name in found or one.regions:
                continue
            if len(operands) == len(one.operands):
                try:
                    (found[one.results[0].name],) = apply(one, operands)
                except EvaluationError:
                    continue
        return found


def simplify(program: Program) -> SimplifiedProgram:
    """Return a program of a single function as a simplifier leaves it."""
    simplifier = _Simplifier(program)
    *operations, end = program.main.body.operations
    for operation in operations:
        simplifier.add(operation)
    replaced, folded = simplifier.replaced, simplifier.shown.foldable.names
    made = (*simplifier.shown.operations, replace_operands(end, replaced))
    own = (name for name, value in replaced.items() if value.name in folded)
    return SimplifiedProgram(
        replace_body(program, made), replaced, frozenset({*folded, *own}), simplifier.is_changed
    )


@dataclass(frozen=True)
class WrittenOperations(ObservedProgram):
    """The operations of a simplified program so far, with the values of constants only."""

    foldable: FoldableValues
    operations: list[Operation] = field(default_factory=list)
    _written: dict[str, Operation] = field(default_factory=dict)
    _constants: dict[str, Array | None] = field(default_factory=dict)

    def define(self, operation: Operation) -> None:
        """Let an operation define its results, before it is appended or replaced."""
        self._written.update((value.name, operation) for value in operation.results)

    def append(self, operation: Operation) -> None:
        """Append an operation that is not simplified further."""
        self.operations.append(operation)
        self.foldable.add(operation)

    def maker(self, value: Value) -> Operation | None:
        """Return the operation that defines a value."""
        return self._written.get(value.name)

    def is_folded(self, value: Value) -> bool:
        """Return whether a value is a constant to a compiler."""
        return value.name in self.foldable.names

    def known_value(self, value: Value) -> Array | None:
        """Return the value of a constant to a compiler; None for other values."""
        if not self.is_folded(value):
            return None
        if value.name not in self._constants:
            self._constants[value.name] = self._fold(value)
        return self._constants[value.name]

    def _fold(self, value: Value) -> Array | None:
        maker, of = self.maker(value), static_element_type(value)
        if maker is None or of is None or element_count(value) > _MOST_FOLDED:
            return None
        if (integer := self.foldable.integers.get(value.name)) is not None:
            return np.full(tensor_of(value).static_shape, integer)
        operands = [one for one in map(self.known_value, maker.operands) if one is not None]
        if len(operands) < len(maker.operands):
            return None
        try:
            return apply(maker, operands)[maker.results.index(value)]
        except (EvaluationError, KeyError):  # of a region that uses values around it
            return None


class _Simplifier:
    """Writes operations one after the other, simplified."""

    def __init__(self, program: Program) -> None:
        """Begin with no operations."""
        self.shown = WrittenOperations(program, {}, FoldableValues(program.main.arguments))
        self.replaced: dict[str, Value] = {}
        self.is_changed = False

    def add(self, operation: Operation) -> None:
        """Add an operation, or its replacement."""
        operation = replace_operands(operation, self.replaced)
        self.shown.define(operation)
        found = next(self._replacements(operation), None)
        if found is None:
            self.shown.append(operation)
            self._replace(values_kept_by_loop(operation))
            return
        self.is_changed = True
        for one in found.operations:
            self.add(one)
        self._replace(dict(zip(operation.results, found.results, strict=True)))

    def _replace(self, others: Mapping[Value, Value]) -> None:
        for value, other in others.items():
            if value != other:
                self.is_changed = True
                self.replaced[value.name] = self.replaced.get(other.name, other)

    def _replacements(self, operation: Operation) -> Iterator[Replacement]:
        """Yield the simplifications of an operation whose results keep their types."""
        values = (*operation.operands, *operation.results)
        if not all(map(static_element_type, values)):
            return
        if operation.name in STEPS:
            found = STEPS[operation.name](self.shown, operation)
            if found is not None:
                yield found
        if len(operation.results) != 1:
            return
        matcher = Matcher(self.shown, ())
        for one in SIMPLIFICATIONS:
            if one.acts_on(operation):
                for bindings in matcher.matches(one.pattern, operation):
                    yield from _as_replacement(substitute(one.replacement, bindings), operation)


def _as_replacement(node: Node, operation: Operation) -> Iterator[Replacement]:
    """Yield the replacement of an operation by a term of values of its result's type."""
    (result,) = operation.results
    if isinstance(node, Value):
        if node.type == result.type:
            yield Replacement((), (node,))
    elif isinstance(node, Term):
        made = list(_as_operations(node, result))
        if all(one.type == result.type for each in made for one in each.operands):
            yield Replacement(tuple(made), (result,))


def _as_operations(term: Term, result: Value) -> Iterator[Operation]:
    """Yield the operations that compute a term of values of one type."""
    operands: list[Value] = []
    for number, one in enumerate(term.operands):
        if isinstance(one, Term):
            inner = replace(result, name=f"{result.name}.{number}")
            yield from _as_operations(one, inner)
            operands.append(inner)
        else:
            assert isinstance(one, Value)
            operands.append(one)
    yield Operation(term.op, tuple(operands), (result,))
