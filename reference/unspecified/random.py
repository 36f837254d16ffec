"""Unspecified results of random ops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.products import to_wide_type
from reference.unspecified.reasons import Reason, Unspecified


def is_undefined(operation: Operation, operands: Sequence[Array]) -> bool:
    """Return whether `rng` is undefined for these parameters, or they describe no distribution.

    Spec, "rng": UNIFORM is undefined unless a < b, NORMAL if b < 0; neither accepts infinities and
    NaNs.
    """
    a, b = (to_wide_type(operand) for operand in operands[:2])
    if not (np.isfinite(a) and np.isfinite(b)):
        return True
    return bool(a >= b if operation.attribute("rng_distribution") == "UNIFORM" else b < 0)


def _undefined_distribution(
    operation: Operation, operands: Sequence[Array], _: Array, __: int
) -> list[Unspecified]:
    """Return all elements if the distribution is undefined; see `is_undefined`."""
    return [("undefined distribution", np.asarray(is_undefined(operation, operands)))]


def is_invalid_mean(mean: Array) -> bool:
    """Return whether numbers that are 0 or 1 cannot have this mean.

    The page does not define the result; XLA's compiler gave zeros for NaN and for less than 0, ones
    for more than 1.
    """
    return not 0 <= float(mean) <= 1


def _invalid_mean(
    _: Operation, operands: Sequence[Array], __: Array, ___: int
) -> list[Unspecified]:
    """Return all elements if the mean is invalid (`is_invalid_mean`). XLA's "RngBernoulli"."""
    return [("undefined distribution", np.asarray(is_invalid_mean(operands[0])))]


def _algorithm(operation: Operation, _: Sequence[Array], __: Array, ___: int) -> list[Unspecified]:
    """Return all elements, for every algorithm.

    Spec, "rng_bit_generator": DEFAULT is an implementation-defined algorithm, THREE_FRY and PHILOX
    are implementation-defined variants of the published algorithms, and the output "is not
    guaranteed to be deterministic between implementations".
    """
    name = operation.attribute("rng_algorithm")
    label = "algorithm" if name == "DEFAULT" else f"variant of {name}"
    return [(label, np.ones((), np.bool_))]


REASONS: dict[str, tuple[Reason, ...]] = {
    "RngBernoulli": (_invalid_mean,),
    "rng": (_undefined_distribution,),
    "rng_bit_generator": (_algorithm,),
}
"""The reasons by op."""
