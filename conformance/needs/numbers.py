"""Facts about an op's numbers: the range of its results, and the needs of its operands."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.needs.ranges import RangeRule
from conformance.needs.rules import Rule


@dataclass(frozen=True, slots=True)
class Numbers:
    """Facts about the numbers of an op; None where it has no rule.

    `range` gives bounds of the results. `needs` gives needs of operands that do not depend on
    needs of results. `propagation` gives the needs of operands under which results satisfy
    their needs. `indices` gives the bounds of index operands.
    """

    range: RangeRule | None = None
    needs: Rule | None = None
    propagation: Rule | None = None
    indices: Rule | None = None

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that give the needs of an operation's operands."""
        rules = (self.needs, self.propagation, self.indices)
        return tuple(rule for rule in rules if rule is not None)


ANY_NUMBERS = Numbers()
"""Facts about an op whose operands may be any numbers, and whose results have no bounds."""
