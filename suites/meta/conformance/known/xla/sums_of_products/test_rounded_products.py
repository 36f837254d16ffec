"""Products that are rounded before they are added."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.sums_of_products.rounded_products import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.constants import matrix
from reference.ir.program import Attribute, Value, single_op
from reference.ir.types import element_type
from reference.ops.xla.contraction import DotDimensionNumbers
from suites.meta.support.ops.contractions import ONE_SPATIAL
from suites.meta.support.small_programs import tensor_of

CONTRACTED = {"lhs_contracting_dimensions": (0,), "rhs_contracting_dimensions": (0,)}
BATCHED: dict[str, Any] = {"lhs_batching_dimensions": (), "rhs_batching_dimensions": ()}


def kind_of(actual: float, platform: str) -> str:
    """Return the class of a result of 1.875 * 1.125 + 0.0625 in f8E4M3FN. The sum is 2.171875,
    rounded 2.25. If the product is rounded first, it is 2 + 0.0625, rounded 2.
    """
    of = tensor_of(2, of="f8E4M3FN")
    values = (Value("x", of), Value("y", of))
    program = single_op("dot_general", values, (tensor_of(of="f8E4M3FN"),), CONTRACTED | BATCHED)
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


@pytest.mark.parametrize(("ragged", "kind"), [(0, LABEL), (1, "wrong value")])
def test_ragged_batches_are_of_the_class(ragged: int, kind: str) -> None:
    """A ragged dot of f8E4M3FN gives 2 for the sum of kind_of, once for each batch or group. Only
    batches are products of whole matrices.
    """
    of = element_type("f8E4M3FN")
    values = (
        Value("x", tensor_of(1, 2, of=of.name)),
        Value("y", tensor_of(1, 2, of=of.name)),
        Value("n", tensor_of(1, 1, of="si32") if ragged else tensor_of(1, of="si32")),
    )
    given: dict[str, Attribute] = {
        "lhs_batching_dimensions": (0,), "rhs_batching_dimensions": (0,),
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
        "lhs_ragged_dimensions": (ragged,), "rhs_group_dimensions": (),
    }  # fmt: skip
    shape = (1, 1) if ragged else (1,)
    program = single_op("chlo.ragged_dot", values, (tensor_of(*shape, of=of.name),), given)
    numbers = [np.array([one]).astype(of.storage) for one in ([1.875, 0.0625], [1.125, 1.0])]
    inputs = [*numbers, np.full((1,) * len(shape), 2 if ragged else 1, np.int32)]
    got = [np.full(shape, 2.0).astype(of.storage)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.TPU)
    assert found.kind == kind


BY_ALGORITHM = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<f32> {{
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0],
    precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = {of},
    rhs_precision_type = {of}, accumulation_type = f32, lhs_component_count = 1,
    rhs_component_count = 1, num_primitive_operations = {count},
    allow_imprecise_accumulation = false> : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}}"""


@pytest.mark.parametrize(
    ("of", "count", "actual", "is_explained"),
    [
        ("bf16", 1, 2.015625, True),  # (1 + 2^-7)^2 is 1 + 2^-6 in bf16
        ("bf16", 1, 2.0078125, False),
        ("bf16", 3, 2.015625, False),
        ("tf32", 1, 2.015625, False),
    ],
)
def test_products_of_an_algorithm_are_rounded_to_its_type(
    of: str, count: int, actual: float, is_explained: bool
) -> None:
    program = parse_module(BY_ALGORITHM.format(of=of, count=count))
    inputs = (np.array([1 + 2**-7, 1], np.float32),) * 2
    got = (np.array(actual, np.float32),)
    found = judge_operation(program, inputs, evaluate(program, inputs), got, Hardware.GPU)
    assert (found.kind == LABEL) == is_explained


def test_elements_that_flushing_explains_by_chance_are_of_the_class() -> None:
    """All sums are of rounded products. One is also right if the subnormal operand is zero."""
    size, random = 64, np.random.default_rng(4)
    values = (Value("x", tensor_of(size, of="f16")), Value("y", tensor_of(size, 3, of="f16")))
    program = single_op("dot_general", values, (tensor_of(3, of="bf16"),), CONTRACTED | BATCHED)
    lhs, rhs = (random.normal(size=one) for one in (size, (size, 3)))
    lhs[0], rhs[0] = 2.0**-17, (40000.0, 1.0, 1.0)
    inputs = [one.astype(np.float16) for one in (lhs, rhs)]
    expected = evaluate(program, inputs)
    to = expected[0].dtype
    left, right = (one.astype(to).astype(np.float64) for one in inputs)
    products = (left[:, None] * right).astype(to).astype(np.float64)
    got = [products.sum(axis=0).astype(to)]
    found = judge_operation(program, inputs, expected, got, Hardware.TPU)
    assert {one.kind for one in found.failing} == {LABEL}


@pytest.mark.parametrize(
    ("scale", "actual", "platform", "kind"),
    [
        ("f16", np.inf, Hardware.GPU, LABEL),
        ("f16", 2.0**-30, Hardware.GPU, "wrong value"),
        ("bf16", np.inf, Hardware.GPU, "infinity"),
        ("f8E5M2", np.inf, Hardware.GPU, LABEL),
    ],
)
def test_scaled_operands_of_f16_that_overflow_are_of_the_class(
    scale: str, actual: float, platform: str, kind: str
) -> None:
    """4 * 2^15 overflows in f16. The sum of two products of it and 2^-8 is 2^10."""
    types = ("f16", "f16", "f16", scale)
    values = tuple(Value(f"x{number}", tensor_of(2, of=of)) for number, of in enumerate(types))
    given = {
        "dimension_numbers": DotDimensionNumbers((0,), (0,)), "preferred_element_type": "f32",
    }  # fmt: skip
    program = single_op("ScaledDot", values, (tensor_of(of="f32"),), given)
    inputs = [
        np.full(2, one).astype(value.type.storage)
        for one, value in zip((2.0**-4, 2.0**-4, 4.0, 2.0**15), values, strict=True)
    ]
    got = [np.array(actual, np.float32)]
    found = judge_operation(program, inputs, evaluate(program, inputs), got, platform)
    assert found.kind == kind


def kind_of_convolution(actual: float, places: int, platform: str) -> str:
    """Judge the first place of 2.5 * -0.75 - 1.5 * 0.5, by a reversed window.

    Without the reversal, -1.875 is -2 as f8E5M2, and the sum -2.75 becomes -3 (2.5 * 0.5 - 1.5 *
    -0.75 is 2.375). All other places are 0.
    """
    image, kernel, result = (
        tensor_of(*sizes, of="f8E5M2") for sizes in ((1, places + 1, 1), (2, 1, 1), (1, places, 1))
    )
    given: dict[str, Attribute] = {
        **ONE_SPATIAL,
        "window_reversal": (True,), "padding": matrix([(0, 0)]),
    }  # fmt: skip
    program = single_op("convolution", (Value("x", image), Value("k", kernel)), (result,), given)
    numbers = [2.5, -1.5, *[0.0] * (places - 1)], [-0.75, 0.5]
    inputs = [
        np.array(one).reshape(of.static_shape).astype(of.storage)
        for one, of in zip(numbers, (image, kernel), strict=True)
    ]
    expected = evaluate(program, inputs)
    got = [expected[0].copy()]
    got[0][0, 0, 0] = actual
    return judge_operation(program, inputs, expected, got, platform).kind


@pytest.mark.parametrize(
    ("actual", "places", "platform", "kind"),
    [
        (-3.0, 1, Hardware.GPU, LABEL),
        (-3.0, 1, Hardware.TPU, LABEL),
        (-2.0, 1, Hardware.GPU, "wrong value"),
        (-3.0, 2, Hardware.GPU, "wrong value"),
        (-3.0, 1, Hardware.CPU, "wrong value"),
    ],
)
def test_convolutions_of_a_single_place_are_of_the_class(
    actual: float, places: int, platform: str, kind: str
) -> None:
    assert kind_of_convolution(actual, places, platform) == kind
