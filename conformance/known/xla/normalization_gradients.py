"""Gradients of batch normalization as XLA expands them, in the arithmetics of its backends."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from conformance.known.hypothesis import Results
from conformance.known.xla.normalization_steps import NormalizationOperands, distinct_arrays
from conformance.known.xla.normalization_sums import mixed_sums, paired_sums
from reference.ir.types import Array


def factor_out_root(given: NormalizationOperands) -> Iterator[Results]:
    """Yield gradients with 1 / sqrt(variance + epsilon) factored out of the usual sums."""
    for offset, total in paired_sums(given.machine, *_added(given), given.axes):
        yield from _gradients(given, offset, total)


def factor_out_root_of_loops(given: NormalizationOperands) -> Iterator[Results]:
    """Yield gradients from other sums than the usual ones, as loops add them.

    One pair of sums must give all elements of all results.
    """
    for offset, total, is_usual in mixed_sums(given.machine, *_added(given), given.axes):
        if not is_usual and _gives_results(given, offset, total):
            yield from _gradients(given, offset, total)


def _added(given: NormalizationOperands) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the factors of the terms of both sums."""
    x, _, mean, _, grad_output = given.operands
    return (grad_output,), (grad_output, given.machine.round_step(x - mean))


def _gives_results(given: NormalizationOperands, offset: Array, total: Array) -> bool:
    """Return whether a pair of sums gives all elements of the backend's results."""
    covariance = given.machine.store_step("covariance", total)
    scales = (
        given.machine.round_step(covariance * root) for root in given.roots(given.operands[3])
    )
    if not (given.equals_result(2, offset) & given.equals_result(1, *scales)).all():
        return False
    operands = (operand for operand, *_ in _gradients(given, offset, total))
    return bool(given.equals_result(0, *operands).all())


def _gradients(given: NormalizationOperands, offset: Array, total: Array) -> Iterator[Results]:
    """Yield gradients, given the sums of `grad_output` and of its products with x - mean.

    In the operands' own type, products of constants are also taken first: (x - mean) /
    (variance + epsilon) of a constant x, and 1 / sqrt(variance + epsilon) / count. Compilers that
    compute in a wider type may store these products, and what they multiply, in the operands' type.
    """
    machine, (x, scale, mean, variance, grad_output) = given.machine, given.operands
    centered, inverse = machine.round_step(x - mean), given.inverse
    is_folded = machine.of == machine.narrow or "constants" in machine.rounded

    def folded(numbers: Array) -> Array:
        return machine.store_step("constants", machine.round_step(numbers))

    covariance = machine.store_step("covariance", total)
    along = machine.round_step(-covariance * centered)
    wholes = machine.multiply_add(grad_output, given.count, -offset)
    inner = [
        result
        for whole in (machine.store_step("whole", one) for one in wholes)
        for spread in given.spreads(variance)
        for result in (
            *machine.multiply_add(along, machine.round_step(np.ones_like(spread) / spread), whole),
            machine.round_step(whole + machine.round_step(along / spread)),
            *(
                [machine.round_step(whole - folded(covariance * folded(centered / spread)))]
                if is_folded
                else []
            ),
        )
    ]
    for root in given.roots(variance):
        plain = machine.round_step(machine.round_step(scale * root) * inverse)
        other = folded(scale * folded(root * inverse)) if is_folded else plain
        for factor, one in product(distinct_arrays(plain, other), inner):
            yield machine.round_step(factor * one), machine.round_step(covariance * root), offset
