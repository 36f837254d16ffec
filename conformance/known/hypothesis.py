"""Hypotheses: classes of elements, each with the results that a backend may compute instead.

A hypothesis permits nothing. An element that a rule does not permit, and that a hypothesis
predicts, is of its class. Expectation files state on which backends a class is a known divergence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from conformance.tolerance.rule import Measure
from reference.ir.program import Operation, Program
from reference.ir.types import Array

Results = tuple[Array, ...]
Operands = tuple[Array, ...]

NEAR = 2.0
"""Largest distance, in ulp, of an element that counts as predicted."""

SUBNORMAL = "flushed: intermediate numbers"
"""Class of programs whose results are explained by flushed intermediate numbers."""

LEFT_OUT = "conversion left out"
"""Class of results that are explained by roundings that are omitted."""


class Arithmetic(Enum):
    """The arithmetic of some or all operations of a program; its value is the class of results."""

    FLUSHED = SUBNORMAL
    """Subnormal numbers are flushed to zero."""
    UNROUNDED = LEFT_OUT
    """Roundings are omitted."""

    @property
    def flushes(self) -> bool:
        """Whether subnormal numbers are flushed."""
        return self is Arithmetic.FLUSHED


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A class of elements, and the test that an element belongs to it.

    An element belongs to the class if its error by `errors` is at most 1: it is within rounding
    errors of the value computed instead. Signs of zeros count. If `unsteady`, the elements may
    differ in every execution, as they depend on memory outside of the program. `stated`: an
    expectation in force states it. `ulps` returns the errors in ulp of the values computed instead,
    infinite where there are none; None if `errors` only bounds the distance. `program` returns a
    program whose operations may round as any may: what it permits belongs to the class, too, also
    if some subnormal numbers are zeros (`flushes`).
    """

    label: str
    errors: Measure
    ulps: Measure | None = None
    unsteady: bool = False
    stated: bool = False
    program: Callable[[Operation], Program | None] | None = None
    flushes: bool = False


def value_hypothesis(label: str, errors: Measure) -> Hypothesis:
    """Return the class of elements whose `errors` are 0. Errors of other elements are infinite."""
    return Hypothesis(label, errors, ulps=errors)


def predict_nothing(results: Results) -> Results:
    """Return infinite errors: no element is predicted."""
    return tuple(np.full(result.shape, np.inf) for result in results)


def predict_where(*masks: Array) -> Results:
    """Return errors that are 0 where masks are true and infinite at other positions."""
    return tuple(np.where(mask, 0.0, np.inf) for mask in masks)
