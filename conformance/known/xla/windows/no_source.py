"""A select_and_scatter without source elements that scatters memory contents.

Where all operands are constants, XLA's evaluator folds it. It visits the windows in order until
there is no next window, and so visits the first window even where there is none: along a dimension
without windows the first window ends behind the operand. What it scatters to the elements selected
there is read behind the source.

Source: xla/hlo/evaluator/hlo_evaluator.cc (`HandleSelectAndScatter`); jaxlib 0.10.2 and 0.12,
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from conformance.known.hypothesis import (
    Hypothesis,
    Operands,
    Results,
    predict_nothing,
    predict_where,
)
from reference.interpreter.evaluate import body_of
from reference.ir.program import Operation
from reference.ir.types import Array
from reference.numerics.contributions import Windows
from reference.ops.folds.windows import leaves_of_windows, selected_index
from reference.unspecified.reduction import differing_elements

LABEL = "source without elements"


def _read_behind(
    operation: Operation, operands: Operands, expected: Results, actual: Results
) -> Results:
    """Return 0 for wrong elements at positions that the scatter of memory contents reaches, else
    infinity.
    """
    operand, source, _ = operands
    given: dict[str, Any] = dict(operation.attributes)
    if source.size:
        return predict_nothing(expected)
    windows = leaves_of_windows(operand.shape, **given)
    select = body_of(operation.regions[0])
    chosen = selected_index(operand, select, _pad_to_one_window(windows), _one_by_one)
    scattered = np.zeros(operand.size, np.bool_)
    scattered[chosen[chosen >= 0]] = True
    return predict_where(
        differing_elements(expected[0], actual[0]) & scattered.reshape(operand.shape)
    )


def _pad_to_one_window(windows: Windows) -> Windows:
    """Return the windows, with one window along each dimension that has none."""
    covered = zip(
        windows.given, windows.window_dimensions, windows.padding, windows.shape, strict=True
    )
    padding = tuple(
        (low, high if count else window - size - low)
        for size, window, (low, high), count in covered
    )
    return replace(windows, padding=padding)


def _one_by_one(lanes: Callable[..., Any], rows: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the rows folded from the first to the last by a body that takes lanes."""
    return reduce(lambda left, right: tuple(lanes(*left, *right)), zip(*rows, strict=True))


SCATTERED = Hypothesis(LABEL, _read_behind, signs=True, refutes=True, constants=("*",))
