"""Single products of scaled operands: constants are multiplied first; the result is jaxlib's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.known.xla.sums_of_products.regrouped_scales import CLASSES
from reference.interpreter.evaluate import apply
from reference.ir.program import Value, single_op
from reference.ops.xla.contraction import DotDimensionNumbers
from suites.meta.support.small_programs import array, tensor_of

NAN, INF = float("nan"), float("inf")
OF_SCALES = ("lhs", "rhs_scale")


def explaining(numbers: list[list[float]], got: float) -> set[tuple[str, ...]]:
    """Return the constants of the classes that explain a row times a column in f32."""
    count = len(numbers[0])
    shapes = (1, count), (1, 1), (count, 1), (1, 1)
    operands = tuple(
        array(one, "bf16").reshape(shape) for one, shape in zip(numbers, shapes, strict=True)
    )
    values = tuple(Value(f"x{n}", tensor_of(*shape, of="bf16")) for n, shape in enumerate(shapes))
    given: dict[str, Any] = {
        "dimension_numbers": DotDimensionNumbers((1,), (0,)),
        "preferred_element_type": "f32",
    }
    operation = single_op("ScaledDot", values, (tensor_of(1, 1),), given).subject
    expected, found = tuple(apply(operation, operands)), set[tuple[str, ...]]()
    for one in CLASSES:
        assert one.errors is not None
        (errors,) = one.errors(operation, operands, expected, (array([[got]]),))
        if np.all(errors == 0):
            found.add(one.constants)
    return found


@pytest.mark.parametrize(
    ("numbers", "got", "expected"),
    [
        # infinity, of 1.7e38 times 5, times -0
        ([[-0.0], [2.0**127], [5.0], [2.0**-20]], NAN, {OF_SCALES, ("lhs_scale", "rhs")}),
        ([[-0.0], [2.0**127], [5.0], [2.0**-20]], INF, set()),
        # 2^-140 is flushed
        ([[2.0**20], [2.0**-70], [2.0**-70], [2.0**20]], 0.0, {OF_SCALES}),
        ([[2.0**20], [2.0**-70], [2.0**-70], [2.0**20]], 1.0, set()),
        ([[2.0**-70], [2.0**20], [2.0**20], [2.0**-70]], 0.0, {("lhs_scale", "rhs")}),
        ([[-0.0, 1.0], [2.0**127], [5.0, 1.0], [2.0**107]], NAN, set()),
    ],
)
def test_constants_are_multiplied_first(
    numbers: list[list[float]], got: float, expected: set[tuple[str, ...]]
) -> None:
    assert explaining(numbers, got) == expected
