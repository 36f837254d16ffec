"""How far the results of one operation may be from the reference's: arrays of absolute errors.

In a program of several operations a backend may do more than in one alone: keep intermediate
results in a wider type, contract a product and a sum to one rounding, divide by multiplying with a
reciprocal. So what an operation rounds may be off by one unit in the last place at least, however
exact the rule of the op alone; what it does not round, such as sums of small integers, may not. Nor
may what is only rounded (`convert`, `reduce_precision`): that a program asks for in so many words.

Sources: the rules of conformance/tolerance/rules.py; the StableHLO specification promises no
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
from conformance.judging.processes import folded_here
from conformance.tolerance.rule import Bound, Rule
from reference.interpreter.evaluate import EvaluationError, apply
from reference.ir.program import Operation, QuantizedType, TensorType
from reference.ir.types import Array, element_type_of
from reference.numerics import exactness
from reference.numerics.arithmetic import quiet
from reference.numerics.rounding import round_to, to_float64, ulp_size
from reference.ops.structure import COMMUNICATION, calls_target, is_structure
from reference.ops.table import OPS

EXCESS = 1.0
"""Units in the last place that any rounding within a program may be off by, which no operation is
there for alone."""


def moved(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    directions: Directions,
    platform: str = "cpu",
) -> tuple[Any, ...]:
    """The results moved within their tolerances, as `directions` says."""
    return movable(operation, operands, results, platform)(directions)


Moved = Callable[[Directions], tuple[Any, ...]]
"""moved(directions): the results of an operation, moved within their tolerances."""


def movable(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    platform: str,
    *,
    unrounded: bool = False,
) -> Moved:
    """What moves the results: their tolerances are worked out once, for several directions.

    With `unrounded` what is only rounded may be left as it was, too.
    """
    if backward_error.family(operation) is not None:
        return quiet(
            lambda way: backward_error.moved(operation, operands, results, way, shifted_by)
        )
    rule = rule_of(operation)
    if rule is None:
        return lambda _: results
    rule = rule.on(platform)
    if rule.measure is not None and rule.bound is None:
        return quiet(lambda way: _solved_nearby(operation, operands, results, way))
    with np.errstate(all="ignore"):
        errors = tolerances(operation, operands, results, rule, platform, unrounded=unrounded)
        either = _either_zero(operation, operands, results, rule)
    if all(one is None for one in (*errors, *either)):
        return lambda _: results

    def move(directions: Directions) -> tuple[Any, ...]:
        moved: list[Any] = []
        for result, error, zeros in zip(results, errors, either, strict=True):
            there = result if error is None else _shifted(result, error, directions, rule)
            moved.append(there if zeros is None else with_signs(there, zeros, directions))
        return tuple(moved)

    return quiet(move)


def moves_by_tolerances(operation: Operation) -> bool:
    """Whether an operation's results move by tolerances of their own: by as much up as down, and
    each element by itself."""
    if operation.regions or is_structure(operation) or calls_target(operation):
        return False
    rule = rule_of(operation)
    by_bound = rule is not None and (rule.measure is None or rule.bound is not None)
    return by_bound and backward_error.family(operation) is None


def _either_zero(
    operation: Operation, operands: tuple[Any, ...], results: tuple[Any, ...], rule: Rule
) -> tuple[Array | None, ...]:
    """For each result which zeros may have either sign (of complex numbers: in either part)."""
    if rule.either_zero is None or operation.name in COMMUNICATION:
        return (None,) * len(results)
    found = rule.either_zero(operation, operands, results)
    return tuple(None if mask is None or not mask.any() else mask for mask in found)


def with_signs(result: Array, zeros: Array, directions: Directions) -> Array:
    """Return the result with zeros of the sign that the directions say, where `zeros` says so."""
    of = element_type_of(result)
    if of.is_complex:
        parts = [part(result) for part in (np.real, np.imag)]
        signed = [
            np.where(zeros[..., n] & (part == 0), np.copysign(0.0, directions(part.shape)), part)
            for n, part in enumerate(parts)
        ]
        there = np.empty_like(result)
        there.real, there.imag = signed
        return there
    zero = zeros & (to_float64(result) == 0)
    signed = round_to(np.copysign(0.0, directions(result.shape)), of)
    return np.where(zero, signed, result).astype(result.dtype)


def tolerances(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    rule: Rule,
    platform: str,
    *,
    unrounded: bool = False,
) -> tuple[Array | None, ...]:
    """The absolute error permitted of every element (of complex ones: of each part), as float64.

    None where a result is not moved: integers (but codes of quantized numbers), data, and what is
    exact.
    """
    found = _tolerances(operation, operands, results, rule, platform, unrounded)
    return tuple(None if error is None or not error.any() else error for error in found)


def _tolerances(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    rule: Rule,
    platform: str,
    unrounded: bool,
) -> tuple[Array | None, ...]:
    if rule.bound is not None:
        bounds = (
            _across_processes(operation, operands, results, rule.bound)
            if operation.name in COMMUNICATION
            else rule.bound(operation, operands, results)
        )
        return tuple(
            None if bound is None or not _moves(operation, number, result) else bound
            for number, (bound, result) in enumerate(zip(bounds, results, strict=True))
        )
    if rule.ulps is None or OPS[operation.name].is_exact is exactness.is_always_exact:
        return (None,) * len(results)
    return tuple(
        _of_ulps(operation, operands, result, rule, platform, unrounded)
        if _moves(operation, number, result)
        else None
        for number, result in enumerate(results)
    )


def _across_processes(
    operation: Operation, operands: tuple[Any, ...], results: tuple[Any, ...], bound: Bound
) -> tuple[Array | None, ...]:
    """The bounds of what a collective folds, in the process that it is evaluated in."""
    return tuple(
        None if part is None else bound(part.program.subject, part.inputs, part.expected)[0]
        for part in folded_here(operation, operands, results)
    )


def _moves(operation: Operation, number: int, result: Any) -> bool:
    if not isinstance(result, np.ndarray) or not result.size:
        return False
    of = operation.results[number].type
    if isinstance(of, TensorType) and isinstance(of.element_type, QuantizedType):
        return True
    element = element_type_of(result)
    return element.is_float or element.is_complex


def _of_ulps(
    operation: Operation,
    operands: tuple[Array, ...],
    result: Array,
    rule: Rule,
    platform: str,
    unrounded: bool,
) -> Array | None:
    of = element_type_of(result)
    if rule.ulps is None or not (of.is_float or of.is_complex):
        return None
    record = OPS.get(operation.name)
    is_asked_for = record is not None and record.only_rounds and not unrounded
    budget = max(rule.ulps.budget(of, platform), 0.0 if is_asked_for else EXCESS)
    if of.is_complex:
        larger = np.fmax(np.abs(np.real(result)), np.abs(np.imag(result))).astype(np.float64)
        error = budget * ulp_size(larger, of.part)
    else:
        error = budget * ulp_size(np.abs(to_float64(result)), of)
        error = np.where(to_float64(result) == 0, 0.0, error)
    exact = None if record is None else record.is_exact
    if exact is not None:
        error = np.where(exact(operands, result), 0.0, error)
    return error if error.any() else None


def _shifted(result: Array, error: Array, directions: Directions, rule: Rule) -> Array:
    of = element_type_of(result)
    if of.is_complex:
        parts = [
            part(result).astype(np.float64) + directions(result.shape) * error
            for part in (np.real, np.imag)
        ]
        return np.asarray((parts[0] + 1j * parts[1]).astype(result.dtype))
    if not of.is_float:  # codes of quantized numbers
        steps = np.rint(directions(result.shape) * error)
        low, high = float(of.min_integer), float(of.max_integer)
        return np.clip(result.astype(np.float64) + steps, low, high).astype(result.dtype)
    wide = to_float64(result)
    there = wide + directions(result.shape) * error
    if rule.range is not None:
        there = np.clip(there, *rule.range)
    kept = (error == 0) | ~np.isfinite(wide) | (wide == 0) & (there == 0)
    return np.where(kept, result, round_to(np.asarray(there, np.float64), of)).astype(result.dtype)


def shifted_by(array: Array, error: Array, directions: Directions) -> Array:
    """A floating-point or complex array with its elements moved by a share of the errors."""
    return _shifted(array, error, directions, Rule("", "", ""))


def _solved_nearby(
    operation: Operation,
    operands: tuple[Any, ...],
    results: tuple[Any, ...],
    directions: Directions,
) -> tuple[Any, ...]:
    """Ops judged by their backward error: the results on operands that are as far off.

    A backward stable method gives the exact solution of a problem in which every element is off by
    a few units in the last place times the size of the matrix (Higham, theorems 8.5 and 10.3).
    """
    near: list[Any] = []
    for operand in operands:
        of = element_type_of(operand)
        size = operand.shape[-1] if operand.ndim else 1
        error = (size + 1) * ulp_size(np.abs(backward_error.magnitude(operand)), of.part)
        near.append(shifted_by(operand, error, directions))
    try:
        return apply(operation, near)
    except EvaluationError:
        return results


"""What tells exact results from rounded ones; other ops of ulps are taken to round always."""
