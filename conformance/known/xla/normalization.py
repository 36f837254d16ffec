"""Batch normalization as XLA expands it into other operations, in the arithmetics of its backends.

Every step rounds once. Backends differ in few respects: types, flushing, which products are fused
into sums, sums in order or correctly rounded, and the last bits of an approximate 1 / sqrt(x). So
each element has a finite set of predicted values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
    value_hypothesis,
)
from conformance.known.xla.normalization_gradients import factor_out_root, factor_out_root_of_loops
from conformance.known.xla.normalization_steps import (
    Machine,
    NormalizationOperands,
    distinct_arrays,
    store_result,
)
from conformance.known.xla.normalization_sums import mixed_sums
from conformance.tolerance.bounds.normalization import (
    FULL_SIZE_OPERANDS,
    measure_by,
    round_each_operation,
)
from conformance.tolerance.bounds.underflow import has_flushing_modes
from reference.ir.program import Operation
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.rounding import round_to
from reference.ops import normalization as ops
from reference.ops.table import OPS

GRAD, INFERENCE, TRAINING = (record.name for record in ops.OPS)

_COMPUTED = tuple(ELEMENT_TYPES[name] for name in ("f32", "f16", "f64", "bf16"))
"""Types that backends compute in. Narrower types are computed in f32 or f16, on TPUs in bf16."""

_MOST_ADDED = 1 << 14
"""Largest number of elements of a sum that is predicted: sums in order are slow here."""

_MOST_ELEMENTS = 1 << 18
"""Largest number of elements of an operand whose results are predicted."""

_MEASURE = measure_by(round_each_operation)

_STEPS_ROUNDED = (
    (),
    ("inverse",),
    ("inverse", "whole"),
    ("inverse", "variance"),
    ("inverse", "products"),
    ("inverse", "products", "sums", "mean", "root"),
    ("inverse", "products", "covariance", "constants"),
)
"""Sets of steps whose results compilers store in the operands' narrower type, one set for each
known compilation. They are 1 / count ("inverse"), products before they are added, sums, values
that one fusion passes to another, and gradients without their mean ("whole"). "covariance" is a
sum of products, not of gradients. "constants" are folded products and products with these.

Source: jaxlib 0.10.2 and 0.12.0 for GPUs and libtpu 0.0.50, measured.
"""

_STEPS = {
    GRAD: ("inverse", "products", "sums", "root", "whole", "covariance", "constants"),
    INFERENCE: ("root",),
    TRAINING: ("inverse", "products", "sums", "mean", "variance", "root"),
}
"""The steps in `_STEPS_ROUNDED` that each op has."""

_FOLDED_STEPS = ("spread", "root", "factor", "shift")
"""The steps of an inference that are folded if scale, mean and variance are constants."""


def _feature_index(operation: Operation) -> int:
    index: Any = operation.attribute("feature_index")
    return index


def _given_on(
    machine: Machine, operation: Operation, operands: Operands, actual: Results
) -> NormalizationOperands:
    first, index = operands[0], _feature_index(operation)
    epsilon: Any = np.array(operation.attribute("epsilon"), np.float64)
    count = np.array(first.size // max(first.shape[index], 1), np.float64)
    if machine.are_rounded:
        of = element_type_of(first)
        epsilon, count = round_to(epsilon, of), round_to(count, of)
    shaped = (
        one if name in FULL_SIZE_OPERANDS else ops.shape_per_feature(one, first, index)
        for name, one in zip(OPS[operation.name].operands, operands, strict=True)
    )
    taken = [machine.widen(one) for one in shaped]
    constants = machine.widen(epsilon), machine.widen(count)
    axes = ops.reduced_axes(first, index)
    return NormalizationOperands(machine, taken, *constants, axes, actual)


def _fold(given: NormalizationOperands) -> Iterator[Results]:
    """Yield x * s + (offset - mean * s), with s = scale / sqrt(variance + epsilon).

    The sum's terms are also given with s and the difference rounded to the operands' type, after
    the unrounded s has been multiplied by the mean: XLA for GPUs converts what depends on features
    only before it broadcasts it. Source: optimised modules of jaxlib 0.12 for GPUs.
    """
    machine, (x, scale, _, mean, variance) = given.machine, given.operands
    for root in given.roots(variance):
        factor = machine.store_step("factor", machine.round_step(scale * root))
        yield from _add_folded(given, (x, factor), (mean, factor))


def _fold_constants(
    given: NormalizationOperands, names: Collection[str], other: str
) -> Iterator[Results]:
    """Yield x * s + (offset - mean * s), where v * s begins with the product of two constants for
    each v of `names`.

    It is (v * scale) / sqrt(variance + epsilon) if the `other` constant is the scale, and
    scale * (v / sqrt(variance + epsilon)) if it is the variance.
    """
    machine, (x, scale, _, mean, variance) = given.machine, given.operands
    for root in given.roots(variance):
        first, second = (scale, root) if other == "scale" else (root, scale)
        factor = machine.round_step(scale * root)
        yield from _add_folded(
            given,
            *(
                (machine.round_step(value * first), second) if name in names else (value, factor)
                for name, value in (("operand", x), ("mean", mean))
            ),
        )


def _add_folded(
    given: NormalizationOperands, factors: tuple[Array, Array], shifts: tuple[Array, Array]
) -> Iterator[Results]:
    """Yield x * y + (offset - left * right), given x and y, and left and right."""
    machine, offset = given.machine, given.operands[2]
    (x, factor), (left, right) = factors, shifts
    if "shift" in machine.rounded:
        shift = machine.store_step("shift", machine.round_step(left * right))
        rests = iter((machine.round_step(offset - shift),))
    else:
        rests = machine.multiply_add(-left, right, offset)
    for rest in rests:
        terms = (
            (factor, rest),
            (machine.round_to_narrow(factor), machine.round_to_narrow(rest)),
        )
        for s, difference in terms:
            for result in machine.multiply_add(x, s, difference):
                yield (result,)


def _normalize_in_one_pass(
    given: NormalizationOperands, *, adds_offset: bool = True
) -> Iterator[Results]:
    """Yield results with the variance as E[x^2] - E[x]^2 or E[x^2] - (sum of x)^2 / n^2.

    XLA of jaxlib 0.12 puts 0 in place of a negative variance. Constant zeros are not added as
    offset, so that -0 stays -0.
    """
    machine, (_, scale, offset) = given.machine, given.operands
    if not adds_offset and offset.any():
        return
    moments = chain(_moments_of_equal_numbers(given), _moments(given))
    for centered, mean, variances in moments:
        clamped = (np.maximum(one, 0) for one in variances)
        for unrounded in distinct_arrays(*variances, *clamped):
            variance = machine.store_step("variance", unrounded)
            for difference, root in product(centered, given.roots(variance)):
                normalized = machine.round_step(difference * root)
                if not adds_offset:
                    yield machine.round_step(normalized * scale), mean, variance
                    continue
                for result in machine.multiply_add(normalized, scale, offset):
                    yield result, mean, variance


def _moments(given: NormalizationOperands) -> Iterator[tuple[list[Array], Array, list[Array]]]:
    """Yield the differences from the mean, the mean, and variances, by sums of all elements.

    Means and variances by unusual sums must be the results of a feature that others do not explain.
    """
    machine, x, inverse = given.machine, given.operands[0], given.inverse
    explained: Array = np.zeros(given.results[1].shape, np.bool_)
    for total, squares, is_usual in mixed_sums(machine, (x,), (x, x), given.axes):
        mean = given.means(total)
        factors = (
            (mean, mean),
            (machine.round_step(total * total), machine.round_step(inverse * inverse)),
        )
        variances = [
            one
            for x_, y_ in factors
            for one in (
                *machine.multiply_add(-x_, y_, given.means(squares)),
                machine.fuse(squares, inverse, -machine.round_step(x_ * y_)),
            )
        ]
        clamped = (np.maximum(one, 0) for one in variances)
        equal = given.equals_result(1, mean) & given.equals_result(2, *variances, *clamped)
        if is_usual or (equal & ~explained).any():
            yield machine.center(x, total, inverse, mean), mean, variances
        explained |= equal


def _moments_of_equal_numbers(
    given: NormalizationOperands,
) -> Iterator[tuple[list[Array], Array, list[Array]]]:
    """Yield the values of `_moments` for equal numbers, whose sums XLA computes as products with
    the count.

    The count, its reciprocal and their squares are one constant then.
    """
    machine, number = given.machine, given.equal_number
    if number is None or machine.divides or machine.rounded:
        return
    square, inverse = machine.round_step(number * number), given.inverse
    one = machine.round_step(given.count * inverse)
    both = machine.round_step(given.count * given.count), machine.round_step(inverse * inverse)
    of_squares = machine.round_step(both[0] * both[1])
    mean = machine.round_step(number * one)
    variances = [
        *machine.multiply_add(-square, of_squares, machine.round_step(square * one)),
        machine.fuse(square, one, -machine.round_step(square * of_squares)),
    ]
    yield [machine.round_step(given.operands[0] - mean)], mean, variances


Expansion = Callable[[NormalizationOperands], Iterator[Results]]
"""A function expansion(given) that yields results of an op, computed with other operations."""

_EXPANSIONS: dict[str, tuple[str, Expansion]] = {
    GRAD: ("order of the factors", factor_out_root),
    INFERENCE: ("folded normalization", _fold),
    TRAINING: ("one-pass variance", _normalize_in_one_pass),
}
"""The class of results, and the function that expands the op, by op."""

_MEAN_FIRST, _OPERAND_FIRST = "constant mean multiplied first", "constant operand multiplied first"

_CONSTANTS_FIRST: tuple[tuple[str, tuple[str, ...], Expansion], ...] = tuple(
    (label, (*names, other), partial(_fold_constants, names=names, other=other))
    for label, names in (
        (_MEAN_FIRST, ("mean",)),
        (_OPERAND_FIRST, ("operand",)),
        (_OPERAND_FIRST, ("operand", "mean")),
    )
    for other in ("scale", "variance")
)
"""Expansions of an inference in which products of two constants are taken first and folded, with
their classes and the constants. Source: jaxlib 0.10.2 and 0.11.2 on CPUs, measured.
"""


def _computed_types(of: ElementType) -> Iterator[ElementType]:
    """Yield the types in which operands of a type are computed: their own last if it is narrow."""
    if of in _COMPUTED:
        yield of
    yield from (one for one in _COMPUTED if of.bits < one.bits <= _COMPUTED[0].bits)
    if of not in _COMPUTED:
        yield of


def _predict(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    *,
    flushes: tuple[bool, ...],
    is_folded: bool = False,
    expansion: Expansion | None = None,
) -> Iterator[Results]:
    """Yield all predicted results of an operation, in the expected shapes, by its op's expansion or
    by another one. The backend's results choose among many sums.
    """
    of, size = element_type_of(operands[0]), operands[0].size
    features = max(operands[0].shape[_feature_index(operation)], 1)
    is_sum = operation.name != INFERENCE
    if size > _MOST_ELEMENTS or (is_sum and size > _MOST_ADDED * features):
        return
    expand = expansion or _EXPANSIONS[operation.name][1]
    machines = (
        _folding_machines(operation, of)
        if is_folded
        else chain.from_iterable(_machines(operation, of, flushes=one) for one in flushes)
    )
    for machine in dict.fromkeys(machines):  # a type that is never flushed has one machine
        for results in expand(_given_on(machine, operation, operands, actual)):
            yield tuple(
                store_result(one, want) for one, want in zip(results, expected, strict=True)
            )


def _machines(operation: Operation, of: ElementType, *, flushes: bool) -> Iterator[Machine]:
    """Yield the machines that normalize operands of a type."""
    own = _STEPS[operation.name]
    choices = (tuple(step for step in steps if step in own) for steps in _STEPS_ROUNDED)
    for rounded in dict.fromkeys(choices):
        for wider in _computed_types(of):
            is_flushing = flushes and has_flushing_modes(wider)
            if wider == of:
                if not rounded:
                    yield Machine(wider, is_flushing, of)
            elif rounded:
                yield Machine(wider, is_flushing, of, rounded=rounded)
            else:
                yield from (Machine(wider, is_flushing, of, one) for one in (False, True))


def _folding_machines(operation: Operation, of: ElementType) -> Iterator[Machine]:
    """Yield the machines that normalize constants of a type, or fold steps of an inference."""
    if operation.name != INFERENCE:
        yield Machine(of, flushes=False, narrow=of, divides=True)
        return
    for wider in _computed_types(of):
        yield Machine(wider, flushes=False, narrow=of, rounded=_FOLDED_STEPS)


def _equal_elements(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    *,
    flushes: tuple[bool, ...],
    is_folded: bool = False,
    expansion: Expansion | None = None,
) -> Results:
    """Return masks of the elements that equal any prediction."""
    found = tuple(np.zeros(want.shape, np.bool_) for want in expected)
    right = [equal_elements(want, got) for want, got in zip(expected, actual, strict=True)]
    predicted = _predict(
        operation,
        operands,
        expected,
        actual,
        flushes=flushes,
        is_folded=is_folded,
        expansion=expansion,
    )
    for results in predicted:
        for mask, one, got in zip(found, results, actual, strict=True):
            mask |= equal_elements(one, got)
        if all(bool((a | b).all()) for a, b in zip(found, right, strict=True)):
            break
    return found


def _expansion_errors(
    operation: Operation,
    operands: Operands,
    expected: Results,
    actual: Results,
    expansion: Expansion | None = None,
) -> Results:
    """Return 0 for predicted elements, else infinity."""
    given = operation, operands, expected, actual
    return predict_where(*_equal_elements(*given, flushes=(True, False), expansion=expansion))


def _folding_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for elements that constant folding gives, which divides by the count and rounds each
    folded step to the operands' type; else infinity."""
    given = operation, operands, expected, actual
    return predict_where(*_equal_elements(*given, flushes=(False,), is_folded=True))


def _flushing_errors(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for elements that only flushing explains: predicted if subnormals are flushed.

    Without flushing they are not predicted, but the rule permits them.
    """
    if not any(map(has_flushing_modes, _computed_types(element_type_of(operands[0])))):
        return predict_nothing(expected)
    given = operation, operands, expected, actual
    found, same = (_equal_elements(*given, flushes=(one,)) for one in (True, False))
    left = [a & ~b for a, b in zip(found, same, strict=True)]
    flushed = [np.zeros(want.shape, np.bool_) for want in expected]
    for results in _predict(operation, operands, expected, actual, flushes=(False,)):
        if not any(map(np.any, left)):
            break
        errors = _MEASURE(operation, operands, expected, results)
        for mask, rest, error in zip(flushed, left, errors, strict=True):
            mask |= rest & (error <= 1)
            rest &= ~mask
    return predict_where(*flushed)


_FOLDED = {
    op: replace(value_hypothesis(_EXPANSIONS[op][0], _folding_errors), constants=constants)
    for op, constants in (
        (INFERENCE, ("scale", "mean", "variance")),
        (TRAINING, ("operand",)),
    )
}

_WITH_CONSTANTS_FIRST = tuple(
    replace(
        value_hypothesis(label, partial(_expansion_errors, expansion=expansion)),
        constants=constants,
    )
    for label, constants, expansion in _CONSTANTS_FIRST
)

_ZERO_OFFSETS = replace(
    value_hypothesis(
        _EXPANSIONS[TRAINING][0],
        partial(_expansion_errors, expansion=partial(_normalize_in_one_pass, adds_offset=False)),
    ),
    constants=("offset",),
)

_ADDED_IN_LOOPS = value_hypothesis(
    _EXPANSIONS[GRAD][0], partial(_expansion_errors, expansion=factor_out_root_of_loops)
)
"""A class of its own, as it takes long, and is rarely needed."""

NORMALIZED_BY_XLA: dict[str, tuple[Hypothesis, ...]] = {
    op: (
        value_hypothesis("subnormal intermediate", _flushing_errors, flushes=True),
        value_hypothesis(label, _expansion_errors),
        *((_ADDED_IN_LOOPS,) if op == GRAD else ()),
        *(_WITH_CONSTANTS_FIRST if op == INFERENCE else ()),
        *((_ZERO_OFFSETS,) if op == TRAINING else ()),
        *(hypothesis for name, hypothesis in _FOLDED.items() if name == op),
    )
    for op, (label, _) in _EXPANSIONS.items()
}
"""The classes of results that XLA's expansion of each op gives."""
