"""Products that are rounded before they are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.rounded_products import LABEL
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import typed

CONTRACTED = {"lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,)}
BATCHED: dict[str, Any] = {"lhs_batching_dimensions": (), "rhs_batching_dimensions": ()}


def kind_of(actual: float, platform: str) -> str:
    """Judge 1.875 * 1.125 + 0.0625, which is 2.171875: 2.25 as f8E4M3FN, and 2 + 0.0625 is 2."""
    of = typed(2, of="f8E4M3FN")
    values = (Value("x", of), Value("y", of))
    program = single_op("dot_general", values, (typed(of="f8E4M3FN"),), CONTRACTED | BATCHED)
    numbers = ([1.875, 0.0625], [1.125, 1.0])
    inputs = [np.array(one).astype(of.storage) for one in numbers]
    got = [np.array(actual).astype(of.storage)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, platform)
    return found.kind


@pytest.mark.parametrize(
    ("actual", "platform", "kind"),
    [
        (2.0, Hardware.TPU, LABEL),
        (1.5, Hardware.TPU, "wrong value"),
        (2.0, Hardware.CPU, "wrong value"),
    ],
)
def test_sums_of_rounded_products_are_of_the_class(actual: float, platform: str, kind: str) -> None:
    assert kind_of(actual, platform) == kind
