"""Classes of functions of complex numbers, within the errors of compilers' formulas.

An element is of a class if it lies within the rounding errors of each step on its operands. An
element with a larger error belongs to no class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results
from conformance.known.numbers_with_error import Number
from conformance.known.xla.complex_numbers.complex_formulas import Complex, Formula
from conformance.known.xla.complex_numbers.machines import Machine, Tiny
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics.alike import different_bits

CANCELLATION = "digits cancelled"
LOGARITHM = "logarithm of few digits"
RANGE = "overflow or underflow on the way"
NEGATIVE = "subnormal taken for -0"
RECIPROCAL = "reciprocal"
CLASSES = (CANCELLATION, LOGARITHM, RANGE, NEGATIVE, RECIPROCAL)

FEW_DIGITS = 260
"""Error of XLA's f64 logarithm of 1 + x up to jaxlib 0.10, in units of the roundoff.

129 ulp were measured (expectation log-plus-one-accuracy); an ulp is two units next to a power of
two.
"""


def stepwise_hypotheses(*formulas: Formula) -> tuple[Hypothesis, ...]:
    """Return the classes of formulas' results, from cancellation to certain overflow."""
    return (
        cancellation_class(*formulas),
        formula_class(RANGE, formulas, _possible_machines),
        formula_class(LOGARITHM, formulas, _imprecise_log_machines),
        formula_class(NEGATIVE, formulas, _negative_zero_machines),
    )


def cancellation_class(*formulas: Formula) -> Hypothesis:
    """Return the class of cancellation in formulas, whatever the range of their type."""
    return formula_class(CANCELLATION, formulas, lambda of: (Machine(of, ranged=False),))


def by_reciprocal(formula: Formula) -> Hypothesis:
    """Return the class of products with a rounded, or flushed, reciprocal."""
    return formula_class(
        RECIPROCAL, (formula,), lambda of: (Machine(of, ranged=False), *_possible_machines(of))
    )


def _possible_machines(of: ElementType) -> tuple[Machine, ...]:
    """Return the machines by which steps may overflow and underflow.

    On the last machine, an underflow has no error: it is decided by operands that have none, such
    as the operands of a square.
    """
    flushing = Machine(of, tiny=Tiny.ZERO)
    return Machine(of), flushing, replace(flushing, contracted=True), Machine(of, is_exact=True)


def _imprecise_log_machines(of: ElementType) -> tuple[Machine, ...]:
    if of.bits < 64:
        return ()
    exact = Machine(of, ranged=False, logarithm=FEW_DIGITS)
    return exact, replace(exact, ranged=True, tiny=Tiny.ZERO)


def _negative_zero_machines(of: ElementType) -> tuple[Machine, ...]:
    if of.bits < 64:
        return ()
    exact = Machine(of, tiny=Tiny.NEGATIVE_ZERO)
    return exact, replace(exact, logarithm=FEW_DIGITS)


def formula_class(
    label: str,
    formulas: Sequence[Formula],
    machines: Callable[[ElementType], tuple[Machine, ...]],
    *,
    is_rounded: bool = False,
) -> Hypothesis:
    """Return the class of the results of any of the formulas on any of the machines.

    If it `is_rounded`, the result is converted to the operands' type. Then it may be another
    infinity or NaN than the formula's, and a zero may have either sign.
    """

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        del operation
        of, got = element_type_of(expected[0]), actual[0]
        found = np.full(got.shape, np.inf)
        if not of.is_complex or any(one.shape != got.shape for one in operands):
            return (found,)
        left = different_bits(got, expected[0])
        with np.errstate(all="ignore"):
            for machine, formula in product(machines(of.part), formulas):
                parts = ([part(z[left]) for part in _PARTS] for z in operands)
                given = (Complex(*map(machine.exactly, pair)) for pair in parts)
                errors = _worse_part_errors(formula(*given), got[left], of, is_rounded)
                if machine.tiny is not Tiny.KEPT:  # then no part of a result is subnormal
                    errors[_has_subnormals(got[left], of)] = np.inf
                found[left] = np.minimum(found[left], errors)
                left &= found > 1
                if not left.any():
                    break
        return (found,)

    return Hypothesis(label, measure, signs=is_rounded)


_PARTS = (np.real, np.imag)


def _worse_part_errors(result: Complex, got: Array, of: ElementType, is_rounded: bool) -> Array:
    """Return the distances of results from a number, in units of its error, by the worse part."""
    parts = tuple(part(got) for part in _PARTS)
    if not is_rounded:
        return np.maximum(*map(_errors, result, parts))
    narrow = Machine(of.part, is_exact=True)
    rounded = [narrow.step(one.value, one.error, one.lost, units=1) for one in result]
    is_finite = np.logical_and(*(np.isfinite(one.value) for one in rounded))
    errors = np.maximum(*map(_errors, rounded, parts))
    return np.where(is_finite | np.isfinite(got), errors, 0.0)


def _has_subnormals(numbers: Array, of: ElementType) -> Array:
    sizes = np.abs(np.stack([part(numbers) for part in _PARTS]))
    return np.any((sizes > 0) & (sizes < of.float_format.smallest_normal), axis=0)


def _errors(number: Number, got: Array) -> Array:
    """Return the distance of a result from a number, in units of its error."""
    value, error = number.value, number.error
    away = np.abs(got.astype(np.longdouble) - value)
    units = np.where(away == 0, 0.0, away / error)
    same = (value == got) | np.isnan(value) & np.isnan(got)
    open_ = ~np.isfinite(got) | ~np.isfinite(value) | ~np.isfinite(error)
    return np.where(same, 0.0, np.where(open_, np.inf, units)).astype(np.float64)
