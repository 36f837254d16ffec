"""Custom calls by target, for targets whose meaning does not depend on the implementation.

The specification leaves targets implementation-defined. This module has the annotations that
frameworks write for the compiler's partitioner and memory planner (which change no value in a
single process), the assertions that jax.export puts before a program of dynamic shapes, routines
of linear algebra (reference/custom_calls/lapack/routines.py), and products with sparse matrices.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from reference.custom_calls.dynamic import CALLS as DYNAMIC
from reference.custom_calls.lapack.routines import CALLS
from reference.custom_calls.sparse import CALLS as SPARSE
from reference.ir.errors import EvaluationError

_CALLBACK = re.compile(r"xla\w*_python_\w+_callback")
"""The targets of jax's callbacks (pure_callback, io_callback, debug.print) on any platform."""

BuiltIn = Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]
"""A function built_in(inputs, attributes): the results."""

MEMORY_PLACEMENTS = frozenset({"MoveToDevice", "MoveToHost", "annotate_device_placement"})
"""Targets that annotate the memory of a value. A compiler compares it with the memory that the
module states for its results.
"""

_IDENTITIES = (
    *sorted(MEMORY_PLACEMENTS), "LayoutConstraint", "SPMDFullToShardShape",
    "SPMDShardToFullShape", "Sharding", "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape",
)  # fmt: skip
"""Targets that annotate the placement of a value; in a single process a shard is the whole
value."""


def _identity(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    del given
    return inputs


def _no_results(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    del inputs, given
    return ()


def _shape_assertion(inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Check jax.export's assertion on dynamic sizes: an i1 value, and numbers for its message."""
    if not np.all(inputs[0]):
        message = str(given.get("error_message", "shape assertion failed"))
        for index, value in enumerate(inputs[1:]):
            message = message.replace(f"{{{index}}}", str(value))
        raise EvaluationError(message)
    return ()


BUILT_IN: dict[str, BuiltIn] = {
    **dict.fromkeys(_IDENTITIES, _identity),
    "shape_assertion": _shape_assertion,
    "xla.sdy.ShardingGroup": _no_results,
    **CALLS,
    **DYNAMIC,
    **SPARSE,
}
"""Implementations by target. Handlers given to an evaluation precede these."""


def call_built_in(target: str, inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the results of a built-in target, given all attributes of the operation.

    `given` also has `results`, the stated result types, and `computations`, the functions that the
    operation names, each as a `reference.ir.regions.Body`.

    Raises:
        EvaluationError: if the target is unknown, or an assertion does not hold.
    """
    if target not in BUILT_IN:
        older = f"{target}_ffi" in BUILT_IN
        why = ": its options are operands, as in jax before 0.4.32" if older else ""
        if _CALLBACK.fullmatch(target):
            why = ": it is a function of the Python process that made the program"
        raise EvaluationError(f"no handler for the custom call {target!r}{why}")
    return BUILT_IN[target](inputs, given)
