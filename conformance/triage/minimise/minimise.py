"""A failing program made as small as it can be: operations, regions, shapes, then data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from conformance.triage.minimise.attempts import Attempts, Fails
from conformance.triage.minimise.contents import plainer
from conformance.triage.minimise.shapes import smaller_shapes
from conformance.triage.minimise.surgery import (
    constants_given,
    fewer_results,
    later_start,
    simpler_regions,
    values_replaced,
)
from conformance.triage.minimise.unused import fewer_unused, is_unused_to_blame
from reference.ir.program import Program
from reference.ir.types import Array

TRIES = 600
"""Programs that are run at most to make one smaller."""

Step = Callable[[Attempts], bool]
"""step(attempts): whether it made the program smaller."""

_OPERATIONS = (fewer_results, later_start, values_replaced, simpler_regions)


def minimised(
    fails: Fails,
    program: Program,
    inputs: Sequence[Array],
    seconds: float,
    tries: int = TRIES,
) -> Attempts:
    """The smallest program found that fails as this one does, on its inputs.

    `fails` is asked of every program tried. The program should be one function, where that makes
    no difference (see `conformance.transforms.inline`). Never raises: what cannot be evaluated does
    not fail.
    """
    attempts = Attempts(fails, program, tuple(inputs), tries, monotonic() + seconds)
    if is_unused_to_blame(attempts):  # all other steps drop what nothing uses
        fewer_unused(attempts)
        plainer(attempts)
        return attempts
    _until_stable(attempts, _OPERATIONS)
    _until_stable(attempts, (smaller_shapes, *_OPERATIONS))
    plainer(attempts)
    constants_given(attempts)
    return attempts


def _until_stable(attempts: Attempts, steps: Sequence[Step]) -> None:
    """Take the steps in turn, again and again, until none makes the program smaller."""
    going_on = True
    while going_on and not attempts.is_over:
        going_on = sum(step(attempts) for step in steps) > 0
