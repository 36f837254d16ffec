"""Sums of products of scaled operands: flushed scales, and sums kept in bf16."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.known.rewritings.identities import REGROUPED
from conformance.known.xla.sums_of_products.products import FLUSHED, IN_BF16
from conformance.known.xla.sums_of_products.rounded_products import ROUNDED_SCALED_PRODUCTS
from conformance.known.xla.sums_of_products.scaled import SCALED
from reference.interpreter.evaluate import apply
from reference.ir.program import Value, single_op
from reference.ops.xla.contraction import DotDimensionNumbers
from suites.meta.support.small_programs import array, tensor_of

LEAST = 2.0**-127
"""Smallest number of f8E8M0FNU, subnormal in bf16."""


def explained(
    label: str, lhs: list[float], rhs: list[float], scales: tuple[float, float], got: float
) -> bool:
    """Return whether a row times a column, each with a scale, is of a class of results in f32."""
    count = len(lhs)
    numbers = [lhs], [scales[:1]], [[one] for one in rhs], [scales[1:]]
    types = ("f8E4M3FN", "f8E8M0FNU") * 2
    operands = tuple(array(one, of) for one, of in zip(numbers, types, strict=True))
    shapes = (1, count), (1, 1), (count, 1), (1, 1)
    values = tuple(
        Value(f"x{n}", tensor_of(*shape, of=of))
        for n, (shape, of) in enumerate(zip(shapes, types, strict=True))
    )
    given: dict[str, Any] = {
        "dimension_numbers": DotDimensionNumbers((1,), (0,)),
        "preferred_element_type": "f32",
    }
    operation = single_op("ScaledDot", values, (tensor_of(1, 1),), given).subject
    (hypothesis,) = (one for one in SCALED if one.label == label)
    assert hypothesis.errors is not None
    expected = tuple(apply(operation, operands))
    with np.errstate(all="ignore"):
        (errors,) = hypothesis.errors(operation, operands, expected, (array([[got]]),))
    return bool(errors.item() <= 1)


@pytest.mark.parametrize(
    ("scales", "got", "is_explained"),
    [
        ((LEAST, 2.0**100), 0, True),
        ((2.0**100, LEAST), 0, True),
        ((LEAST, 2.0**100), 2.0**-26, True),  # of a constant, which is not flushed
        ((LEAST, 2.0**100), -(2.0**-26), False),
        ((2 * LEAST, 2.0**100), 0, False),
    ],
)
def test_smallest_scale_may_be_flushed(
    scales: tuple[float, float], got: float, is_explained: bool
) -> None:
    assert explained(FLUSHED, [1, 1], [1, 1], scales, got) is is_explained


@pytest.mark.parametrize(("scale", "is_explained"), [(LEAST, True), (2 * LEAST, False)])
def test_scale_may_be_flushed_though_its_products_are_normal(
    scale: float, is_explained: bool
) -> None:
    assert explained(FLUSHED, [256], [1], (scale, 2.0**100), 0) is is_explained


@pytest.mark.parametrize(
    ("scale", "is_explained"), [(2.0**-120, True), (2.0**-100, False), (1.0, False)]
)
def test_zero_has_either_sign_if_a_product_may_be_subnormal(
    scale: float, is_explained: bool
) -> None:
    """The sum 1 - 1 is +0; products with the scale 2^-20 are subnormal from 2^-107 on."""
    assert explained(FLUSHED, [1, -1], [1, 1], (scale, 2.0**-20), -0.0) is is_explained
    assert explained(FLUSHED, [1, -1], [1, 1], (scale, 2.0**-20), 0.0)


@pytest.mark.parametrize(("got", "is_explained"), [(258 - 3.05, True), (258 - 3.07, False)])
def test_sums_may_be_kept_in_bf16(got: float, is_explained: bool) -> None:
    """Three roundings of 2^-8 have the error 3 / (256 - 3) of the sum of magnitudes, 3.06."""
    assert explained(IN_BF16, [256, 1, 1], [1, 1, 1], (1, 1), got) is is_explained
    assert explained(IN_BF16, [128, 0.5, 0.5], [1, 1, 1], (4, 0.5), got) is is_explained


def test_rounded_products_are_tried_last() -> None:
    labels = dict.fromkeys(one.label for one in SCALED)
    assert [*labels] == [FLUSHED, IN_BF16, REGROUPED, ROUNDED_SCALED_PRODUCTS.label]
