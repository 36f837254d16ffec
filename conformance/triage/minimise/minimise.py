"""Minimisation of a failing program: first operations, then regions, shapes and data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from conformance.triage.minimise.attempts import Fails, Minimisation
from conformance.triage.minimise.surgery import (
    drop_first_operations,
    is_unused_to_blame,
    reduce_results,
    reduce_unused,
    replace_constants,
    replace_values,
    simplify_regions,
)
from conformance.triage.minimise.tensors import shrink_shapes, simplify_data
from reference.ir.program import Program
from reference.ir.types import Array

TRIES = 600
"""Largest number of programs run to minimise a program."""

Step = Callable[[Minimisation], bool]
"""A function step(attempts): whether it made the program smaller."""

_OPERATIONS = (reduce_results, drop_first_operations, replace_values, simplify_regions)


def minimise(
    fails: Fails,
    program: Program,
    inputs: Sequence[Array],
    seconds: float,
    tries: int = TRIES,
) -> Minimisation:
    """Return the smallest program found that fails like the given program, with its inputs.

    `fails` is called for every program tried. The program should be one function, if it fails so,
    too (see `conformance.transforms.inline`). Never raises: a program that cannot be evaluated does
    not fail.
    """
    attempts = Minimisation(fails, program, tuple(inputs), tries, monotonic() + seconds)
    if is_unused_to_blame(attempts):  # all other steps drop what nothing uses
        reduce_unused(attempts)
        simplify_data(attempts)
        return attempts
    _repeat_steps(attempts, _OPERATIONS)
    _repeat_steps(attempts, (shrink_shapes, *_OPERATIONS))
    simplify_data(attempts)
    replace_constants(attempts)
    return attempts


def _repeat_steps(attempts: Minimisation, steps: Sequence[Step]) -> None:
    """Apply the steps round-robin until none makes the program smaller."""
    going_on = True
    while going_on and not attempts.is_over:
        going_on = sum(step(attempts) for step in steps) > 0
