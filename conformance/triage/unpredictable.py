"""Results that follow from elements that no program predicts, such as memory that is not written.

These elements differ in every execution, so that the execution with all intermediate results says
nothing about the execution that failed. What does not depend on them must be right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.judging.perturbation.arbitrary_values import fill_arbitrary, filling
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.overrides import Override
from conformance.known.hypothesis import NEAR, Hypothesis
from conformance.known.in_force import stated_hypotheses
from conformance.triage.audit import OperationAudit, WrongOperation
from conformance.triage.fault import FailedProgram
from reference.interpreter.evaluate import EvaluationError
from reference.ir.types import Array
from reference.numerics.alike import different_bits

FILLINGS = 3
"""Evaluations with arbitrary values in unpredictable elements, the first with NaN."""


def follows_from_unpredictable(
    failed: FailedProgram,
    steps: OperationAudit,
    platform: str,
    may_be_anything: Callable[[WrongOperation], bool],
) -> bool:
    """Return whether a program's results are right except for what unpredictable elements change.

    The operations that are wrong in the audit must be known to be. `may_be_anything` tells those
    whose entries predict no element.
    """
    masks = list(_unpredictable_elements(steps, may_be_anything))
    if not any(mask.any() for _, some in masks for mask in some):
        return False
    ways = [[*_filled_overrides(masks, number)] for number in range(FILLINGS)]
    try:
        first, *others = (
            failed.permitted_results(platform, [*steps.adopted, *way]) for way in ways
        )
        expected = first.expected
        varying = [
            _differs_in_any(one, [other.expected[n] for other in others])
            for n, one in enumerate(expected)
        ]
        actual = [
            np.where(mask, want, got).astype(got.dtype) if want.shape == got.shape else got
            for mask, want, got in zip(varying, expected, failed.actual, strict=True)
        ]
        left = judge_program(first, actual)
    except EvaluationError:
        return False
    return not left.verdict.fails


def _unpredictable_elements(
    steps: OperationAudit, may_be_anything: Callable[[WrongOperation], bool]
) -> Iterator[tuple[Override, tuple[Array, ...]]]:
    """Yield the wrong operations of main, with masks of the elements that nothing predicts."""
    wrong = {id(one.operation): one for one in steps.wrong if not one.within}
    for shift in steps.differing:
        one = wrong.get(id(shift.operation))
        if one is not None and may_be_anything(one):
            yield shift, tuple(np.ones(result.shape, np.bool_) for result in shift.actual)
            continue
        judgement = None if one is None else one.judgement
        operands = [steps.values.get(value.name) for value in shift.operation.operands]
        known = tuple(value for value in operands if value is not None)
        masks = tuple(np.zeros(result.shape, np.bool_) for result in shift.actual)
        if judgement is not None and len(known) == len(operands):
            for model in stated_hypotheses(shift.operation):
                if model.unsteady and model.label in judgement.wrong_classes:
                    found = _masks(model, shift, known)
                    masks = tuple(a | b for a, b in zip(masks, found, strict=True))
        yield shift, masks


def _masks(model: Hypothesis, shift: Override, operands: tuple[Any, ...]) -> tuple[Array, ...]:
    """Return masks of the elements of a class whose values the class does not predict."""
    given = shift.operation, operands, shift.expected, shift.actual
    of_class = [one <= 1 for one in model.errors(*given)]
    if model.ulps is None:
        return tuple(of_class)
    far = [one > NEAR for one in model.ulps(*given)]
    return tuple(mine & one for mine, one in zip(of_class, far, strict=True))


def _filled_overrides(
    masks: Sequence[tuple[Override, tuple[Array, ...]]], number: int
) -> Iterator[Override]:
    """Yield the overrides of wrong operations with arbitrary values in the masks."""
    random = np.random.default_rng(number)
    for shift, some in masks:
        filled = tuple(
            fill_arbitrary(one, mask, random, filling(number))
            for one, mask in zip(shift.actual, some, strict=True)
        )
        yield replace(shift, actual=filled)


def _differs_in_any(one: Array, others: Sequence[Array]) -> Array:
    """Return a mask of the elements that have other bits in any other array."""
    found = np.zeros(one.shape, np.bool_)
    for other in others:
        found |= different_bits(one, other)
    return found
