"""Rewritings that entries state: what a backend computes in place of several operations.

An entry with `instead_of` and `computes` is a pattern and a replacement, in the language of
terms.py. It is matched and evaluated as the rewritings that compilers are known to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.catalog import column_of
from conformance.known.entry_prediction import EntryPrediction, label
from conformance.known.hypothesis import Hypothesis
from conformance.known.rewritings.patterns import Rewriting, predictions
from conformance.known.rewritings.single import pattern_hypothesis
from conformance.known.rewritings.terms import Term
from conformance.known.rewritings.values import ObservedProgram, Predictions
from conformance.text import matches_any
from reference.ir.program import Operation
from reference.ir.types import Kind


@dataclass(frozen=True, slots=True)
class StatedRewriting:
    """Results that an expectation entry states for several operations.

    A result may differ from its predicted value by `within` ulp; if that is 0, both have the same
    bits. If `flushes`, intermediate subnormal numbers are zeros.
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
        """Return whether the pattern is a single operation, and matches this operation."""
        del folded
        is_single = not any(isinstance(one, Term) for one in self._rewriting.pattern.operands)
        return is_single and self.acts_on(operation)

    def acts_on(self, operation: Operation) -> bool:
        """Return whether the pattern's outermost operation has this operation's name and element
        type.
        """
        of = column_of(operation)
        return self._rewriting.acts_on(operation) and matches_any(of, self.element_types)

    def predictions(self, shown: ObservedProgram, operation: Operation) -> Predictions:
        """Yield the possible replacements of an operation's result."""
        return predictions(shown, self._rewriting, (), operation)

    def hypothesis(self, folded: Sequence[bool] | None = None) -> Hypothesis:
        """Return the class of the results of one operation that it predicts.

        `folded` says which operands are constants to a compiler; None if unknown.
        """

        return pattern_hypothesis((self._rewriting,), folded or (), stated=True)


Stated = EntryPrediction | StatedRewriting
"""The prediction of an entry: for one op, or for several operations."""
