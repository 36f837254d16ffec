"""Smaller programs tried one after the other: what fails in the same way takes the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from conformance.frontends.extensions import beyond
from reference.interpreter.evaluate import EvaluationError, check
from reference.ir.program import Program
from reference.ir.types import Array

Inputs = tuple[Array, ...]

Fails = Callable[[Program, Inputs], bool]
"""fails(program, inputs): whether it still fails, in the way that the first program did."""


Smaller = Callable[[Program], Iterator[Program]]
"""smaller(program): programs that may take its place."""

Tidied = Callable[[Program, Inputs], tuple[Program, Inputs]]
"""tidied(program, inputs): the program without what it does not need, and its inputs."""


@dataclass(slots=True)
class Attempts:
    """The smallest program so far and its inputs, and how much may still be tried.

    `left` counts the programs that may be run, `until` is when to stop, in seconds of `monotonic`.
    """

    fails: Fails
    program: Program
    inputs: Inputs
    left: int
    until: float
    seen: set[tuple[str, bytes]] = field(default_factory=set[tuple[str, bytes]])

    @property
    def is_over(self) -> bool:
        """Whether nothing more may be tried."""
        return self.left <= 0 or monotonic() >= self.until

    def take(self, program: Program, inputs: Inputs) -> bool:
        """Try a program: whether it is valid and fails too, and so is the one from now on.

        Constraints that it breaks as an extension (`conformance.frontends.extensions`) are no
        obstacle: the program that fails may break them, too.

        None is run twice.
        """
        if self.is_over:
            return False
        key = (program.digest, b"".join(array.tobytes() for array in inputs))
        if key in self.seen:
            return False
        self.seen.add(key)
        if beyond(check(program))[0]:
            return False
        self.left -= 1
        try:
            fails = self.fails(program, inputs)
        except EvaluationError:
            return False
        if fails:
            self.program, self.inputs = program, inputs
        return fails

    def take_repeatedly(self, smaller: Smaller, tidied: Tidied) -> bool:
        """Try what is made of the program, again while one of it is taken; whether one was."""
        shrunk, going_on = False, True
        while going_on and not self.is_over:
            going_on = any(self.take(*tidied(one, self.inputs)) for one in smaller(self.program))
            shrunk |= going_on
        return shrunk
