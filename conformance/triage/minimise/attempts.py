"""Attempts with smaller programs: each that fails in the same way replaces the current program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from conformance.frontends.extensions import unpermitted_violations
from conformance.pipeline.items import Inputs
from reference.interpreter.evaluate import EvaluationError, check
from reference.ir.program import Program

Fails = Callable[[Program, Inputs], bool]
"""A function fails(program, inputs): whether the program fails in the same way as the first
program.
"""


Smaller = Callable[[Program, Inputs], Iterator[tuple[Program, Inputs]]]
"""A function smaller(program, inputs) that yields smaller programs to try, with their inputs."""


@dataclass(slots=True)
class Minimisation:
    """The smallest failing program so far with its inputs, and the remaining budget.

    `left` is the number of further programs to run, `until` the deadline in seconds of `monotonic`.
    """

    fails: Fails
    program: Program
    inputs: Inputs
    left: int
    until: float
    seen: set[tuple[str, bytes]] = field(default_factory=set[tuple[str, bytes]])

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.left <= 0 or monotonic() >= self.until

    def try_program(self, program: Program, inputs: Inputs) -> bool:
        """Replace the current program if the given program is valid and fails, too; return whether
        it does.

        Constraints that it breaks as an extension (`conformance.frontends.extensions`) are
        permitted: the failing program may break them, too. No program is run twice.
        """
        if self.is_over:
            return False
        key = (program.digest, b"".join(array.tobytes() for array in inputs))
        if key in self.seen:
            return False
        self.seen.add(key)
        if unpermitted_violations(check(program))[0]:
            return False
        self.left -= 1
        try:
            fails = self.fails(program, inputs)
        except EvaluationError:
            return False
        if fails:
            self.program, self.inputs = program, inputs
        return fails

    def try_repeatedly(self, smaller: Smaller) -> bool:
        """Try smaller programs until none is accepted; return whether any was."""
        shrunk, going_on = False, True
        while going_on and not self.is_over:
            going_on = any(self.try_program(*one) for one in smaller(self.program, self.inputs))
            shrunk |= going_on
        return shrunk
