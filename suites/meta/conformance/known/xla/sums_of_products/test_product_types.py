"""Products with results in another type: values that may be rounded twice, and others."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.known.xla.sums_of_products.product_types import OPERANDS, RESULT, SATURATED
from conformance.tolerance.hardware import Hardware
from conformance.verdict import Verdict
from generators.invalid.misses import program, tensor
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Program
from reference.ir.types import Array, element_type
from reference.ops.xla.contraction import default_dimension_numbers
from reference.ops.xla.lowering import lower_program


def product(op: str, of: str, to: str) -> Program:
    """Return the sum of products of four elements each, as a dot or as a convolution."""
    from_, result = element_type(of), element_type(to)
    if op == "dot":
        types = {"x": tensor(from_, 4), "y": tensor(from_, 4)}
        return program("dot", types, (tensor(result),))
    types = {"x": tensor(from_, 1, 1, 4), "y": tensor(from_, 1, 1, 4)}
    given = {
        "window_strides": (1,), "padding": ((0, 0),), "feature_group_count": 1,
        "batch_group_count": 1, "dimension_numbers": default_dimension_numbers(1),
    }  # fmt: skip
    made = program(
        "ConvGeneral", types, (tensor(result, 1, 1, 1),), preferred_element_type=to, **given
    )
    return lower_program(made)


def judge_result(
    op: str,
    of: str,
    to: str,
    left: list[float],
    right: list[float],
    got: float,
    on: str = Hardware.CPU,
) -> tuple[Verdict, str]:
    """Return verdict and class of a result."""
    subject = product(op, of, to)
    shape = subject.main.arguments[0].type.static_shape  # type: ignore[union-attr]
    operands = tuple(
        np.array(one, element_type(of).storage).reshape(shape) for one in (left, right)
    )
    expected = evaluate(subject, operands)
    actual: Array = np.full(expected[0].shape, got, element_type(to).storage)
    rule = rule_of(subject.subject)
    assert rule is not None
    found = judge(subject, operands, expected, (actual,), rule, platform=on)
    return found.verdict, found.kind


EIGHTS = [1.125, 1.125, 1.125, 0.0], [8.0, 8.0, 8.0, 0.0]
"""27 in all, which is 28 in f8E5M2; with operands rounded to that type 24."""


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_rounded_operands_are_a_class_and_nothing_permitted(op: str) -> None:
    assert judge_result(op, "f8E4M3FN", "f8E5M2", *EIGHTS, 28.0)[0] is Verdict.PASS
    verdict, kind = judge_result(op, "f8E4M3FN", "f8E5M2", *EIGHTS, 24.0)
    assert verdict.fails
    assert kind == OPERANDS
    for wrong in (0.0, -28.0, -24.0, 20.0, 32.0):
        verdict, kind = judge_result(op, "f8E4M3FN", "f8E5M2", *EIGHTS, wrong)
        assert verdict.fails
        assert kind != OPERANDS


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_operands_are_not_rounded_to_a_wider_type(op: str) -> None:
    for of, to in (("f8E5M2", "f8E4M3FN"), ("bf16", "f32"), ("f32", "f32")):
        verdict, kind = judge_result(op, of, to, [1, 1, 1, 0], [8, 8, 8, 0], 20.0)
        assert verdict.fails
        assert kind != OPERANDS


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_cpu_rounds_no_operands_to_a_type_of_equal_range(op: str) -> None:
    """1 + 2^-10 is 1 in bf16, whose range is that of f32: XLA's GPU compiler rounds it."""
    numbers = [1 + 2.0**-10] * 2 + [0.0] * 2, [1.0, -1.0, 0.0, 0.0]
    numbers[0][1] = 1.0
    for platform, is_known in ((Hardware.CPU, False), (Hardware.GPU, True)):
        verdict, kind = judge_result(op, "f32", "bf16", *numbers, 0.0, platform)
        assert verdict.fails
        assert (kind == OPERANDS) is is_known


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_a_result_rounded_to_a_less_precise_type_first_has_a_class(op: str) -> None:
    """1 + 2^-10 is a number of f16, and 1 in bf16."""
    numbers = [1.0, 2.0**-10, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]
    assert judge_result(op, "bf16", "f16", *numbers, 1 + 2.0**-10)[0] is Verdict.PASS
    verdict, kind = judge_result(op, "bf16", "f16", *numbers, 1.0)
    assert verdict.fails
    assert kind == RESULT
    for wrong in (0.0, -1.0, 1 + 2.0**-9, 1.0078125, 2.0):
        verdict, kind = judge_result(op, "bf16", "f16", *numbers, wrong)
        assert verdict.fails
        assert kind != RESULT


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_cpu_rounds_no_result_to_operands_of_less_range(op: str) -> None:
    """65536 would be NaN in f8E5M2FNUZ, and infinity in f8E5M2."""
    large = [256.0] * 2 + [0.0] * 2
    for of, to, wrong in (("f8E5M2FNUZ", "f32", np.nan), ("f8E5M2", "f32", np.inf)):
        verdict, kind = judge_result(op, of, to, large, [128.0] * 4, wrong)
        assert verdict.fails
        assert kind != RESULT
    assert (
        judge_result(op, "f32", "f64", large, [1 + 2.0**-23] * 4, 512.0, Hardware.GPU)[1] == RESULT
    )


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_a_sum_of_powers_of_two_is_rounded_once_to_a_power_of_two(op: str) -> None:
    """3 is 4 in f8E8M0FNU, which has more range than f16, and as much as f32."""
    ones = [1.0] * 3 + [2.0**-120]
    assert judge_result(op, "f8E8M0FNU", "f16", ones, ones, 3.0)[0] is Verdict.PASS
    assert judge_result(op, "f8E8M0FNU", "f16", ones, ones, 4.0)[1] == RESULT
    for to, wrong in (("f16", 2.0), ("f16", 5.0), ("f16", 6.0), ("f16", 8.0), ("f32", 4.0)):
        verdict, kind = judge_result(op, "f8E8M0FNU", to, ones, ones, wrong)
        assert verdict.fails
        assert kind != RESULT


def test_the_smallest_power_of_two_is_flushed_and_not_rounded() -> None:
    smallest = [2.0**-127] + [2.0**-100] * 3, [2.0**61] + [2.0**-127] * 3
    verdict, kind = judge_result("dot", "f8E8M0FNU", "f32", *smallest, 0.0)
    assert (verdict, kind) == (Verdict.DIVERGENT, "flushed in f32")


TWICE = [1.0, 0.5, 0.00390625, 0.0], [1.0, 0.125, 1.0, 0.0]
"""1 + 2^-4 + 2^-8: 1.125 in f8E4M3FN, but in bf16 first a tie, which is 1 there."""


@pytest.mark.parametrize("op", ["dot", "convolution"])
def test_sums_may_be_rounded_to_the_operands_type_first(op: str) -> None:
    """The page: a backend may add up in another type and convert to the preferred type."""
    assert judge_result(op, "bf16", "f8E4M3FN", *TWICE, 1.125)[0] is Verdict.PASS
    assert judge_result(op, "bf16", "f8E4M3FN", *TWICE, 1.0)[0] is Verdict.PASS
    assert judge_result(op, "bf16", "f8E4M3FN", *TWICE, 1.25)[0].fails
    # of f32 the sum is exact, and so is its one rounding
    assert judge_result(op, "f32", "f8E4M3FN", *TWICE, 1.125)[0] is Verdict.PASS
    assert judge_result(op, "f32", "f8E4M3FN", *TWICE, 1.0)[0].fails


@pytest.mark.parametrize(
    ("to", "left", "got", "on", "is_saturated"),
    [
        ("f8E5M2", [57344.0, 57344.0], 57344.0, Hardware.GPU, True),
        ("f8E5M2", [-57344.0, -57344.0], -57344.0, Hardware.GPU, True),
        ("f8E5M2", [np.inf, 1.0], 57344.0, Hardware.GPU, True),
        ("f8E5M2", [57344.0, 57344.0], -57344.0, Hardware.GPU, False),
        ("f8E5M2", [57344.0, 57344.0], 49152.0, Hardware.GPU, False),
        ("f8E5M2", [np.nan, 57344.0], 57344.0, Hardware.GPU, False),
        ("f8E4M3", [240.0, 240.0], 240.0, Hardware.GPU, False),
        ("f8E5M2", [57344.0, 57344.0], 57344.0, Hardware.CPU, False),
    ],
)
def test_conversions_to_eight_bits_saturate(
    to: str, left: list[float], got: float, on: str, is_saturated: bool
) -> None:
    verdict, kind = judge_result("dot", to, to, [*left, 0.0, 0.0], [1.0] * 4, got, on)
    assert verdict.fails
    assert (kind == SATURATED) == is_saturated
