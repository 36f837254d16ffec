"""Unspecified results of control flow: all results of `custom_call`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.ir.program import Operation
from reference.ir.types import Array
from reference.unspecified.reasons import Reason, Unspecified


def _custom_call(
    operation: Operation, operands: Sequence[Array], result: Array, number: int
) -> Sequence[Unspecified]:
    """Return all elements. Spec, "custom_call": an implementation-defined operation."""
    del operation, operands, number
    return [("implementation-defined", np.ones(result.shape, np.bool_))]


REASONS: dict[str, tuple[Reason, ...]] = {"custom_call": (_custom_call,)}
"""The reasons by op."""
