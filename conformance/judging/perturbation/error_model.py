"""Tolerances of one operation's results within a program, as arrays of absolute errors.

In a program of several operations a backend may keep intermediate results in a wider type, contract
a product and a sum to one rounding, or divide by multiplying with a reciprocal. So a result that is
rounded may be off by at least 1 ulp, however exact the rule of the op in isolation. A result that
is not rounded, such as a sum of small integers, may not. Nor may an explicit rounding (`convert`,
`reduce_precision`).

Sources: the rules of conformance/tolerance/table.py; the StableHLO specification promises no
accuracy (stablehlo#1156); XLA's flags xla_allow_excess_precision and its algebraic simplifier do
all three.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from conformance.catalog import rule_of
from conformance.judging.lapack import backward_error
from conformance.judging.lapack.backward_error import Directions
from conformance.judging.processes import local_reductions
from conformance.tolerance.rule import Bound, Rule
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, QuantizedType, TensorType
from reference.ir.types import Array, ElementType, element_type_of
from reference.numerics import exactness
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.numerics.zeros import is_zero
from reference.ops.structure import COMMUNICATION, calls_target, is_structure
from reference.ops.table import OPS

EXCESS = 1.0
"""Tolerance in ulp of any rounding within a program, except by ops that only round."""


def excess_of(operation: Operation) -> float:
    """Return the tolerance, in ulp, of an operation's rounding within a program."""
    record = OPS.get(operation.name)
    return 0.0 if record is not None and record.only_rounds else EXCESS


Mover = Callable[[Directions], tuple[Any, ...]]
"""A function mover(directions) that returns an operation's results moved within their tolerances.
"""


def make_mover(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    platform: str,
    *,
    excess: float | None = None,
) -> Mover:
    """Return a function that moves results; tolerances are computed once for all directions.

    `excess` is the tolerance in ulp of a rounding that a compiler may leave out or do otherwise:
    by default that of `excess_of`.
    """
    if backward_error.decomposition_name(operation) is not None:
        return quiet(
            lambda way: backward_error.move_results(
                operation, operands, results, way, shift_elements
            )
        )
    rule = rule_of(operation)
    if rule is None:
        return lambda _: results
    rule = rule.hardware_rule(platform)
    if rule.measure is not None and rule.bound is None:
        return quiet(lambda way: _solve_nearby(operation, operands, results, way))
    with np.errstate(all="ignore"):
        if excess is None:
            excess = excess_of(operation)
        errors = tolerances(operation, operands, results, rule, platform, excess)
        either = _zeros_of_either_sign(operation, operands, results, rule)
    if all(one is None for one in (*errors, *either)):
        return lambda _: results

    def move(directions: Directions) -> tuple[Any, ...]:
        moved: list[Any] = []
        for result, error, zeros in zip(results, errors, either, strict=True):
            there = result if error is None else _shift(result, error, directions, rule)
            moved.append(there if zeros is None else sign_zeros(there, zeros, directions))
        return tuple(moved)

    return quiet(move)


def has_independent_tolerances(operation: Operation) -> bool:
    """Return whether results move by symmetric tolerances, each element on its own."""
    if operation.regions or is_structure(operation) or calls_target(operation):
        return False
    rule = rule_of(operation)
    by_bound = rule is not None and (rule.measure is None or rule.bound is not None)
    return by_bound and backward_error.decomposition_name(operation) is None


def _zeros_of_either_sign(
    operation: Operation, operands: tuple[Any, ...], results: tuple[Any, ...], rule: Rule
) -> tuple[Array | None, ...]:
    """Return for each result a mask of the zeros that may have either sign.

    Complex numbers have a mask for each part. Where a rule has a bound and does not say which zeros
    keep their sign, none does.
    """
    if operation.name in COMMUNICATION:
        return (None,) * len(results)
    if rule.either_zero is not None:
        found = rule.either_zero(operation, operands, results)
    elif rule.bound is not None:
        found = tuple(map(is_zero, results))
        if any(mask.any() for mask in found):
            bounds = rule.bound(operation, operands, results)  # none of results that are data
            found = tuple(
                None if bound is None else mask for bound, mask in zip(bounds, found, strict=True)
            )
    else:
        return (None,) * len(results)
    types = map(element_type_of, results)
    return tuple(
        mask if mask is not None and mask.any() and (of.is_float or of.is_complex) else None
        for mask, of in zip(found, types, strict=True)
    )


def sign_zeros(result: Array, zeros: Array, directions: Directions) -> Array:
    """Return the result with the sign of each zero in `zeros` taken from the directions."""
    element_type = element_type_of(result)
    if element_type.is_complex:
        parts = [part(result) for part in (np.real, np.imag)]
        signed = [
            np.where(zeros[..., n] & (part == 0), np.copysign(0.0, directions(part.shape)), part)
            for n, part in enumerate(parts)
        ]
        there = np.empty_like(result)
        there.real, there.imag = signed
        return there
    zero = zeros & (to_float64(result) == 0)
    signed = round_to(np.copysign(0.0, directions(result.shape)), element_type)
    return np.where(zero, signed, result).astype(result.dtype)


def tolerances(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    rule: Rule,
    platform: str,
    excess: float,
) -> tuple[Array | None, ...]:
    """Return the permitted absolute error of every element as float64 (of each complex part).

    None where a result does not move: integers (except codes of quantized numbers), data, and exact
    results.
    """
    found = _tolerances(operation, operands, results, rule, platform, excess)
    return tuple(None if error is None or not error.any() else error for error in found)


def _tolerances(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    rule: Rule,
    platform: str,
    excess: float,
) -> tuple[Array | None, ...]:
    if rule.bound is not None:
        bounds = (
            _collective_bounds(operation, operands, results, rule.bound)
            if operation.name in COMMUNICATION
            else rule.bound(operation, operands, results)
        )
        return tuple(
            None if bound is None or not _can_move(operation, index, result) else bound
            for index, (bound, result) in enumerate(zip(bounds, results, strict=True))
        )
    if rule.ulps is None or OPS[operation.name].is_exact is exactness.is_always_exact:
        return (None,) * len(results)
    return tuple(
        _ulp_tolerance(operation, operands, result, rule, platform, excess)
        if _can_move(operation, index, result)
        else None
        for index, result in enumerate(results)
    )


def _collective_bounds(
    operation: Operation, operands: tuple[Any, ...], results: tuple[Any, ...], bound: Bound
) -> tuple[Array | None, ...]:
    """Return the bounds of a collective's folds in the process that is being evaluated."""
    return tuple(
        None if part is None else bound(part.program.subject, part.inputs, part.expected)[0]
        for part in local_reductions(operation, operands, results)
    )


def _can_move(operation: Operation, number: int, result: Any) -> bool:
    if not isinstance(result, np.ndarray) or not result.size:
        return False
    of = operation.results[number].type
    if isinstance(of, TensorType) and isinstance(of.element_type, QuantizedType):
        return True
    element = element_type_of(result)
    return element.is_float or element.is_complex


def _ulp_tolerance(
    operation: Operation,
    operands: tuple[Array, ...],
    result: Array,
    rule: Rule,
    platform: str,
    excess: float,
) -> Array | None:
    element_type = element_type_of(result)
    if rule.ulps is None or not (element_type.is_float or element_type.is_complex):
        return None
    record = OPS.get(operation.name)
    budget = max(rule.ulps.budget(element_type, platform), excess)
    if element_type.is_complex:
        larger = np.fmax(np.abs(np.real(result)), np.abs(np.imag(result))).astype(np.float64)
        error = budget * ulp_size(larger, element_type.part)
    else:
        error = budget * ulp_size(np.abs(to_float64(result)), element_type)
        error = np.where(to_float64(result) == 0, 0.0, error)
    exact = None if record is None else record.is_exact
    if exact is not None:
        error = np.where(exact(operands, result), 0.0, error)
    return error if error.any() else None


def _shift(result: Array, error: Array, directions: Directions, rule: Rule) -> Array:
    element_type = element_type_of(result)
    if element_type.is_complex:
        parts = [
            part(result).astype(np.float64) + directions(result.shape) * error
            for part in (np.real, np.imag)
        ]
        return np.asarray((parts[0] + 1j * parts[1]).astype(result.dtype))
    if not element_type.is_float:  # codes of quantized numbers
        steps = np.rint(directions(result.shape) * error)
        low, high = float(element_type.min_integer), float(element_type.max_integer)
        return np.clip(result.astype(np.float64) + steps, low, high).astype(result.dtype)
    wide, ways = to_float64(result), directions(result.shape)
    there = wide + ways * error
    if (
        element_type.float_format.has_nan
        and not element_type.float_format.has_infinity
        and np.isinf(error).any()
    ):
        # infinity would become NaN, so that no number was permitted
        ends = _largest_numbers(element_type, ways, directions(result.shape))
        there = np.where(np.isinf(error), ends, there)
    if rule.range is not None:
        there = np.clip(there, *rule.range)
    kept = (error == 0) | ~np.isfinite(wide) | (wide == 0) & (there == 0)
    return np.where(kept, result, round_to(np.asarray(there, np.float64), element_type)).astype(
        result.dtype
    )


def _largest_numbers(element_type: ElementType, ways: Array, others: Array) -> Array:
    """Return the largest numbers in the given directions; NaN where the other directions differ.

    Directions that are all equal give numbers only, and random directions give NaN, too.
    """
    numbers = element_type.float_format
    least = -numbers.max_finite if numbers.signed else numbers.smallest
    return np.where(ways != others, np.nan, np.where(ways > 0, numbers.max_finite, least))


def shift_elements(array: Array, error: Array, directions: Directions) -> Array:
    """Return an array with each element moved by a share of its error."""
    return _shift(array, error, directions, Rule("", "", ""))


def _solve_nearby(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    directions: Directions,
) -> tuple[Any, ...]:
    """Return the results on operands moved by the backward error of the op.

    A backward stable method gives the exact solution of a problem in which every element is off by
    a few ulp times the size of the matrix (Higham, theorems 8.5 and 10.3).
    """
    near: list[Any] = []
    for operand in operands:
        element_type = element_type_of(operand)
        size = operand.shape[-1] if operand.ndim else 1
        error = (size + 1) * ulp_size(np.abs(backward_error.magnitude(operand)), element_type.part)
        near.append(shift_elements(operand, error, directions))
    try:
        return apply(operation, near)
    except EvaluationError:
        return results
