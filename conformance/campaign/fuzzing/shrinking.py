"""A program that ends its process, made smaller try by try, each of which may cost a worker.

What is to be tried next is told at once, and its answer taken whenever it is there, so that a
campaign goes on meanwhile. It depends on the answers so far alone: the same steps are taken anew
each time, as far as their answers are known.
"""

from __future__ import annotations

import math

from conformance.campaign.fuzzing.trials import Hit, Inputs
from conformance.limits import Limits
from conformance.triage.minimise.minimise import minimise
from reference.ir.program import Program

TRIES = 60
"""Workers that may be lost to make one program smaller."""


class _Asked(Exception):
    """That a try has no answer yet."""

    def __init__(self, program: Program, inputs: Inputs) -> None:
        super().__init__()
        self.tried = program, inputs


class Shrinking:
    """What is known of smaller programs that end their process as a hit does."""

    def __init__(self, hit: Hit, seconds: float = Limits.MINIMISING_CRASHES) -> None:
        """Nothing yet; workers may spend so many seconds on it."""
        self.hit = hit
        self.program, self.inputs = hit.program, hit.inputs
        """The smallest that fails, so far."""
        self._answers: list[bool] = []
        self._left = seconds

    @property
    def fails_again(self) -> bool:
        """Whether the hit itself failed when it was tried again, which is done first."""
        return bool(self._answers) and self._answers[0]

    def answer(self, fails: bool, seconds: float) -> None:
        """Take what became of the last try: whether it fails alike, after so many seconds."""
        self._answers.append(fails)
        self._left -= seconds

    def next(self) -> tuple[Program, Inputs] | None:
        """The program to be tried next, and its inputs; None where nothing is left to try."""
        if not self._answers:
            return self.hit.program, self.hit.inputs
        if not self._answers[0] or self._left <= 0:
            return None
        answers = iter(self._answers[1:])

        def fails(program: Program, inputs: Inputs) -> bool:
            answer = next(answers, None)
            if answer is None:
                raise _Asked(program, inputs)
            if answer:
                self.program, self.inputs = program, inputs
            return answer

        try:
            minimise(fails, self.hit.program, self.hit.inputs, math.inf, TRIES)
        except _Asked as asked:
            return asked.tried
        return None
