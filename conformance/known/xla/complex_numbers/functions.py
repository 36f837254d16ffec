"""Classes of functions of complex numbers, within the errors of compilers' formulas.

An element is of a class if it lies within the rounding errors of each step on its operands. A wrong
digit before those stays a wrong value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from conformance.known.hypothesis import Hypothesis, Operands, Results
from conformance.known.xla.complex_numbers.complex_formulas import Complex, Formula
from conformance.known.xla.complex_numbers.machines import Machine, Tiny
from conformance.known.xla.numbers_with_error import Number
from reference.ir.program import Operation
from reference.ir.types import Array, ElementType, element_type_of, to_bits

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
        of_any_range(*formulas),
        _hypothesis(RANGE, formulas, _possible_machines),
        _hypothesis(LOGARITHM, formulas, _with_few_digits),
        _hypothesis(NEGATIVE, formulas, _with_negative_zeros),
    )


def of_any_range(*formulas: Formula) -> Hypothesis:
    """Return the class of cancellation in formulas, whatever the range of their type."""
    return _hypothesis(CANCELLATION, formulas, lambda of: (Machine(of, ranged=False),))


def by_reciprocal(formula: Formula) -> Hypothesis:
    """Return the class of products with a rounded, or flushed, reciprocal."""
    return _hypothesis(
        RECIPROCAL, (formula,), lambda of: (Machine(of, ranged=False), *_possible_machines(of))
    )


def _possible_machines(of: ElementType) -> tuple[Machine, ...]:
    flushing = Machine(of, tiny=Tiny.ZERO)
    return Machine(of), flushing, replace(flushing, contracted=True)


def _with_few_digits(of: ElementType) -> tuple[Machine, ...]:
    if of.bits < 64:
        return ()
    exact = Machine(of, ranged=False, logarithm=FEW_DIGITS)
    return exact, replace(exact, ranged=True, tiny=Tiny.ZERO)


def _with_negative_zeros(of: ElementType) -> tuple[Machine, ...]:
    if of.bits < 64:
        return ()
    exact = Machine(of, tiny=Tiny.NEGATIVE_ZERO)
    return exact, replace(exact, logarithm=FEW_DIGITS)


def _hypothesis(
    label: str, formulas: Sequence[Formula], machines: Callable[[ElementType], tuple[Machine, ...]]
) -> Hypothesis:
    """Return the class of the results of any of the formulas on any of the machines."""

    def measure(
        operation: Operation, operands: Operands, expected: Results, actual: Results
    ) -> Results:
        del operation
        of, got = element_type_of(expected[0]), actual[0]
        found = np.full(got.shape, np.inf)
        if not of.is_complex or any(one.shape != got.shape for one in operands):
            return (found,)
        apart = (to_bits(got) != to_bits(expected[0])).any(axis=-1)
        picked = [one[apart] for one in operands]
        with np.errstate(all="ignore"):
            for machine, formula in product(machines(of.part), formulas):
                given = (Complex(*(machine.exactly(part(z)) for part in _PARTS)) for z in picked)
                parts = zip(formula(*given), _PARTS, strict=True)
                errors = np.maximum(*(_errors(number, part(got[apart])) for number, part in parts))
                if machine.tiny is not Tiny.KEPT:  # then no part of a result is subnormal
                    errors[_has_subnormals(got[apart], of)] = np.inf
                found[apart] = np.minimum(found[apart], errors)
        return (found,)

    return Hypothesis(label, measure)


_PARTS = (np.real, np.imag)


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
