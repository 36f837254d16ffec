"""Unspecified results of the ops of reference/ops/dynamism.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from reference.ir.program import Operation
from reference.ir.types import Array
from reference.unspecified.elementwise import unspecified_elements
from reference.unspecified.reasons import Reason, Unspecified


def _large_index(
    operation: Operation,
    operands: Sequence[Array],  # noqa: ARG001 - the shape, which the result has
    result: Array,
    number: int,  # noqa: ARG001 - there is one result
) -> Sequence[Unspecified]:
    """Return indices that the element type lacks, as for `iota`.

    Spec: "dynamic_iota" is functionally identical to "iota".
    """
    return unspecified_elements(replace(operation, name="iota"), (), result)


REASONS: dict[str, tuple[Reason, ...]] = {"dynamic_iota": (_large_index,)}
"""The reasons by op; other ops have none."""
