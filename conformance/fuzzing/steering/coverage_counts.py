"""Coverage counts of programs: pairs of ops, steps by element type, values of named choices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from generators.chains.guide import Guide
from reference.ir.program import Program

Pair = tuple[str, str]
"""An op, and an op that uses its result."""

Step = tuple[str, str]
"""A step of a chain by name, and the element type of the value that it begins with."""

Choice = tuple[str, str, str]
"""An op, a dimension in which its cases vary, and a value in that dimension."""


@dataclass(slots=True)
class CampaignCoverage:
    """Coverage counts; choices that were only offered have a count of 0."""

    pairs: Counter[Pair] = field(default_factory=Counter[Pair])
    steps: Counter[Step] = field(default_factory=Counter[Step])
    choices: Counter[Choice] = field(default_factory=Counter[Choice])

    def note(self, program: Program, guide: Guide) -> None:
        """Count the pairs and choices of a program, and its steps."""
        self.pairs.update(pairs_of(program))
        self.steps.update((name, str(of)) for name, of in guide.steps)
        for op, asked in guide.asked:
            for label in asked.offered:
                self.choices[op, asked.dimension, label] += label == asked.taken

    def add(self, other: CampaignCoverage) -> None:
        """Add the counts of other programs to these."""
        self.pairs.update(other.pairs)
        self.steps.update(other.steps)
        self.choices.update(other.choices)


def pairs_of(program: Program) -> set[Pair]:
    """Return the pairs of ops of main in which the second uses a result of the first."""
    makers: dict[str, str] = {}
    pairs: set[Pair] = set()
    for operation in program.main.body.operations[:-1]:
        used = {makers[value.name] for value in operation.operands if value.name in makers}
        pairs |= {(maker, operation.name) for maker in used}
        makers |= {value.name: operation.name for value in operation.results}
    return pairs
