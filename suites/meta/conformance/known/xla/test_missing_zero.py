"""NaN where a compiler adds to the zero that f8E8M0FNU does not have."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.known.xla import missing_zero
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import tensor_of


@pytest.mark.parametrize(
    ("actual", "platform", "kind"),
    [
        (np.nan, Hardware.TPU, missing_zero.LABEL),
        (4.0, Hardware.TPU, "wrong value"),
        (np.nan, Hardware.CPU, "NaN"),
    ],
)
def test_nan_of_a_reshape_is_of_the_class(actual: float, platform: str, kind: str) -> None:
    of, to = tensor_of(2, 1, of="f8E8M0FNU"), tensor_of(2, of="f8E8M0FNU")
    program = single_op("reshape", (Value("x", of),), (to,))
    inputs = [np.full((2, 1), 2.0).astype(of.storage)]
    got = [np.full(2, actual).astype(to.storage)]
    rule = CATALOG["reshape"].tolerance
    found = judge(program, inputs, evaluate(program, inputs), got, rule, platform=platform)
    assert found.kind == kind
