"""Rewritings that entries state: what a backend computes in place of several operations.

An entry with `instead_of` and `computes` is a pattern and a replacement, in the language of
terms.py. It is matched and evaluated as the rewritings that compilers are known to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from conformance.catalog import column
from conformance.known.computed import Computed, distances, label
from conformance.known.hypothesis import Hypothesis, Results, nothing
from conformance.known.rewritings.patterns import Rewriting, predictions
from conformance.known.rewritings.terms import Term
from conformance.known.rewritings.values import Predicted, Shown
from reference.ir.program import Dense, Function, Operation, Program, Region, TensorType, Value
from reference.ir.types import Array, Kind


@dataclass(frozen=True, slots=True)
class StatedRewriting:
    """What a backend computes in place of operations, by an entry of an expectation file.

    Results may be `within` so many ulp of its values, bit for bit where that is 0. Where it
    `flushes`, subnormal numbers are zeros on the way.
    """

    entry: str
    element_types: tuple[str, ...]
    instead_of: str
    computes: str
    within: float = 0.0
    flushes: bool = False
    unpredictable: bool = False

    @property
    def label(self) -> str:
        """The class of the elements that it predicts."""
        return label(self.entry)

    @property
    def _rewriting(self) -> Rewriting:
        text = f"{self.instead_of} -> {self.computes}"
        return Rewriting(self.label, text, tuple(Kind), ulps=self.within, flushes=self.flushes)

    def applies(self, operation: Operation, folded: Sequence[bool] | None = None) -> bool:
        """Tell whether its pattern is that of one operation, and of this one."""
        del folded
        is_single = not any(isinstance(one, Term) for one in self._rewriting.pattern.operands)
        return is_single and self.acts_on(operation)

    def acts_on(self, operation: Operation) -> bool:
        """Tell whether its pattern ends with operations of that name and element type."""
        of = column(operation)
        return self._rewriting.acts_on(operation) and any(
            fnmatchcase(of, one) for one in self.element_types
        )

    def predictions(
        self, program: Program, operation: Operation, values: Mapping[str, Array]
    ) -> Iterator[Predicted]:
        """Yield what may stand in place of an operation's result, by the values of its program."""
        return predictions(Shown(program, values), self._rewriting, (), operation)

    def hypothesis(self, folded: Sequence[bool] | None = None) -> Hypothesis:
        """Return the class of the results of one operation that it predicts.

        `folded` says which operands are constants to a compiler; None where nobody knows.
        """

        def ulps(
            operation: Operation, operands: Results, expected: Results, actual: Results
        ) -> Results:
            return self._distances(operation, operands, expected, actual, folded or ())

        def errors(
            operation: Operation, operands: Results, expected: Results, actual: Results
        ) -> Results:
            (found, *_) = ulps(operation, operands, expected, actual)
            return (np.where(found <= self.within, 0.0, np.inf),)

        return Hypothesis(self.label, errors, signs=True, stated=True, ulps=ulps)

    def _distances(
        self,
        operation: Operation,
        operands: Results,
        expected: Results,
        actual: Results,
        folded: Sequence[bool],
    ) -> Results:
        """Return how many ulp a result is off the prediction by which most of it is explained."""
        given = _by_itself(operation, operands, folded)
        if given is None or len(actual) != 1:
            return nothing(expected)
        found = [
            distances(one.result, actual[0])
            for one in self.predictions(*given)
            if one.result.dtype == actual[0].dtype
        ]
        if not found:
            return nothing(expected)
        return (max(found, key=lambda one: np.count_nonzero(one <= self.within)),)


def _by_itself(
    operation: Operation, operands: Sequence[Any], folded: Sequence[bool]
) -> tuple[Program, Operation, dict[str, Array]] | None:
    """Return a program of one operation, constants among its operands; None where these are not
    plain tensors."""
    made: list[Operation] = []
    arguments: dict[str, Value] = {}
    if not all(isinstance(one, np.ndarray) for one in operands):
        return None
    for number, (value, array) in enumerate(zip(operation.operands, operands, strict=True)):
        if number < len(folded) and folded[number] and isinstance(value.type, TensorType):
            attributes = (("value", Dense.of(array, value.type)),)
            made.append(Operation("constant", (), (value,), attributes))
        else:
            arguments[value.name] = value
    body = Region(
        tuple(arguments.values()), (*made, operation, Operation("return", operation.results))
    )
    types = tuple(value.type for value in operation.results)
    names = (value.name for value in operation.operands)
    return (
        Program((Function("main", body, types),)),
        operation,
        dict(zip(names, operands, strict=True)),
    )


Stated = Computed | StatedRewriting
"""What an entry says that a backend computes in place of an op, or of several operations."""
