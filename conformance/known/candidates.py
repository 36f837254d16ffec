"""Programs that hypotheses predict in place of a program, evaluated on its inputs.

A candidate is judged like any other program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from conformance.known.hypothesis import NEAR, Hypothesis, Rewriting
from conformance.tolerance.ulp import ulps_from_prediction
from reference.interpreter.evaluate import evaluate
from reference.ir.errors import DeadlockError, EvaluationError
from reference.ir.program import Program
from reference.ir.types import Array
from reference.numerics.alike import equal_elements, equal_results


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that may be computed instead, and its prediction of some results.

    `actual` are the backend's results in the candidate's shapes. Elements that the candidate reads
    from memory outside of the program may have any value: in `actual` they equal `expected`.
    `predicted` masks all other elements.
    """

    label: str
    program: Program
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    predicted: tuple[Array, ...]

    @property
    def is_exact(self) -> bool:
        """Whether the results equal the prediction bit for bit."""
        return equal_results(self.expected, self.actual)

    def near(self, beside: Sequence[Array] | None = None) -> int:
        """Count the elements within `NEAR` ulp of the prediction.

        Elements that `beside` predicts too are not counted.
        """
        given = zip(self.predicted, self.expected, self.actual, strict=True)
        found = [mask & (ulps_from_prediction(one, got) <= NEAR) for mask, one, got in given]
        if beside is not None:
            unlike = (
                ~equal_elements(want, got.reshape(want.shape))
                for want, got in zip(beside, self.actual, strict=True)
            )
            found = [mask.reshape(one.shape) & one for mask, one in zip(found, unlike, strict=True)]
        return sum(int(mask.sum()) for mask in found)


def candidate_programs(
    hypotheses: Sequence[Hypothesis],
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    platform: str,
) -> Iterator[Candidate]:
    """Yield the programs that hypotheses predict instead of a program.

    Their results have the number, the element types and the sizes of the actual results.
    """
    for label, rewrite in _rewritings(hypotheses, program, platform):
        yield from rewritten_by(rewrite, program, inputs, actual, label=label)


def deadlock_class(
    hypotheses: Sequence[Hypothesis], program: Program, inputs: Sequence[Array], platform: str
) -> str:
    """Return the class of the first hypothesis by which the processes of a program wait for each
    other for ever, "" if there is none.
    """
    for label, rewrite in _rewritings(hypotheses, program, platform):
        for other in (one for programs in rewrite(program) for one in programs):
            try:
                evaluate(other, inputs)
            except DeadlockError:
                return label
            except EvaluationError:
                continue
    return ""


def _rewritings(
    hypotheses: Sequence[Hypothesis], program: Program, platform: str
) -> Iterator[tuple[str, Rewriting]]:
    """Yield class and rewriting of the hypotheses about a program on `platform`."""
    several = program.process_count > 1
    for one in hypotheses:
        if one.rewrite and one.several in (several, None) and one.platform in ("", platform):
            yield one.label, one.rewrite


def rewritten_by(
    rewrite: Rewriting,
    program: Program,
    inputs: Sequence[Array],
    actual: Sequence[Array],
    *,
    label: str = "",
) -> Iterator[Candidate]:
    """Yield the candidates that a rewriting makes of a program."""
    for programs in rewrite(program):
        try:
            first, *others = (tuple(evaluate(other, inputs)) for other in programs)
        except EvaluationError:  # processes of other groups may wait for each other for ever
            continue
        shaped = _reshape_results(first, actual)
        if shaped is None:
            continue
        predicted = tuple(
            np.logical_and.reduce(
                [np.ones(one.shape, np.bool_), *(equal_elements(one, x) for x in rest)]
            )
            for one, *rest in zip(first, *others, strict=True)
        )
        given = tuple(
            np.where(mask, got, one)
            for mask, got, one in zip(predicted, shaped, first, strict=True)
        )
        yield Candidate(label, programs[0], first, given, predicted)


def _reshape_results(
    expected: Sequence[Array], actual: Sequence[Array]
) -> tuple[Array, ...] | None:
    """Return the results in the expected shapes; None if that is impossible."""
    if len(expected) != len(actual):
        return None
    pairs = list(zip(expected, actual, strict=True))
    if any(want.dtype != got.dtype or want.size != got.size for want, got in pairs):
        return None
    # true may be any other bits than those of 1
    numbers = (got.view(np.uint8) != 0 if got.dtype == np.bool_ else got for _, got in pairs)
    return tuple(got.reshape(want.shape) for (want, _), got in zip(pairs, numbers, strict=True))
