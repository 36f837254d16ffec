"""Intermediate subnormal numbers flushed to zero: in sums, in part of the code, with
contraction."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.flushing import (
    FlushingChoices,
    flush_at_random,
    flush_everything,
    flush_sign,
)
from conformance.judging.perturbation.judge import judge_program
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

TINY = np.finfo(np.float32).tiny


def flush_input(array: Array, flushing: FlushingChoices) -> Array:
    return flushing.flush_inputs((array,))[0]


def test_flushing_keeps_the_sign_and_all_else() -> None:
    array = np.array([-1e-40, 1e-40, 1.0, -0.0, np.nan], np.float32)
    flushed = flush_input(array, flush_everything())
    assert np.signbit(flushed).tolist() == [True, False, False, True, False]
    assert flushed[:2].tolist() == [0, 0]
    assert flush_input(flushed, flush_everything()) is flushed
    number = np.array(1e-40 + 1j, np.complex64)
    assert flush_input(number, flush_everything()) == 1j
    assert flush_input(number, flush_everything()).shape == ()
    assert flush_input(np.array([1]), flush_everything()).tolist() == [1]


def test_flushing_may_be_restricted_by_sign() -> None:
    array = np.array([-1e-40, 1e-40, 1.0], np.float32)
    assert (flush_input(array, flush_sign(-1.0)) == array).tolist() == [False, True, True]
    assert (flush_input(array, flush_sign(1.0)) == array).tolist() == [True, False, True]
    number = np.array([1e-40 - 1e-40j], np.complex64)
    assert flush_input(number, flush_sign(1.0)).tolist() == [complex(0, np.float32(-1e-40))]
    random, many = np.random.default_rng(1), np.full(64, 1e-40, np.float32)
    kept = {int((flush_input(many, flush_at_random(random)) != 0).sum()) for _ in range(32)}
    assert {0, 64} < kept


SUM = """
func.func @main(%x: tensor<3x{of}>, %init: tensor<{of}>) -> tensor<{of}> {{
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0]
    : (tensor<3x{of}>, tensor<{of}>) -> tensor<{of}>
  return %0 : tensor<{of}>
}}"""
WINDOWS = """
func.func @main(%x: tensor<3xf32>, %init: tensor<f32>) -> tensor<1xf32> {
  %0 = "stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""
UPDATES = """
func.func @main(%x: tensor<2xf32>, %init: tensor<1xf32>) -> tensor<1xf32> {
  %i = stablehlo.constant dense<0> : tensor<2x1xi32>
  %0 = "stablehlo.scatter"(%init, %i, %x) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"""


def judge_result(text: str, inputs: list[Array], actual: float | complex) -> tuple[Verdict, str]:
    program = parse_module(text)
    expected = evaluate(program, inputs)
    got = np.full_like(expected[0], actual)
    rule = rule_of(program.subject)
    assert rule is not None
    found = judge(program, inputs, expected, [got], rule)
    return found.verdict, found.kind


def judge_as_program(text: str, inputs: list[np.ndarray], actual: complex) -> tuple[Verdict, str]:
    program = parse_module(text)
    permitted = PermittedResults(program, inputs, "cpu")
    found = judge_program(permitted, [np.full_like(permitted.expected[0], actual)])
    return found.verdict, found.kind


CANCELLING = np.array([2e-38, -1.5e-38, 2e-38], np.float32)
"""Normal numbers: 2e-38 - 1.5e-38 is subnormal."""
LOST = (Verdict.FLUSHED, "flushed")


@pytest.mark.parametrize("text", [SUM.format(of="f32"), WINDOWS])
def test_sum_with_flushed_partial_sum_is_flushed(text: str) -> None:
    zero = np.zeros((), np.float32)
    assert judge_as_program(text, [CANCELLING, zero], 2e-38) == LOST
    # one that no partial sum of is subnormal loses nothing
    whole = np.array([3, -2, 4], np.float32) * TINY
    assert judge_as_program(text, [whole, zero], float(4 * TINY))[0] is not Verdict.FLUSHED


def test_parts_of_complex_sums_and_updates_are_flushed_alike() -> None:
    text = SUM.format(of="complex<f32>")
    parts = (CANCELLING + 1j).astype(np.complex64)
    zero = np.zeros((), np.complex64)
    assert judge_as_program(text, [parts, zero], 2e-38 + 3j)[0] is Verdict.FLUSHED
    updates = [CANCELLING[1:], CANCELLING[:1]]
    assert judge_as_program(UPDATES, updates, 2e-38) == LOST


def test_narrow_types_have_no_modes_that_flush() -> None:
    small = np.array([7e-5, -6.2e-5, 7e-5], np.float16)  # the smallest normal number is 6.1e-5
    verdict, _ = judge_result(SUM.format(of="f16"), [small, np.zeros((), np.float16)], 7e-5)
    assert verdict is not Verdict.FLUSHED


PRODUCTS = """
func.func @main(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %y : tensor<4x3xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""


def contracted_sums(x: Array, y: Array) -> Array:
    """Return x * y + sum with one rounding at each step; only results of steps are flushed."""
    total = np.zeros(len(x), np.float32)
    for a, b in zip(x.T, y.T, strict=True):
        exact = a.astype(np.float64) * b.astype(np.float64) + total.astype(np.float64)
        total = exact.astype(np.float32)
        total = np.where(np.abs(total) < TINY, np.copysign(np.float32(0), total), total)
    return total


def judge_text(text: str, inputs: list[Array], actual: Array) -> tuple[Verdict, str]:
    program = inline(parse_module(text)).program
    found = judge_program(PermittedResults(program, inputs), [actual.astype(np.float32)])
    return found.verdict, found.kind


def test_flushing_combined_with_contraction_is_flushed() -> None:
    """Contracted products keep subnormal values; intermediate sums do not."""
    x = np.array([[-3e-19, 5e-19, 7e-20]] * 4, np.float32) * np.array(
        [[1], [2], [3], [5]], np.float32
    )
    y = np.array([[2e-20, 6e-20, -1.3e-19]] * 4, np.float32)
    actual = contracted_sums(x, y)
    (expected,) = evaluate(parse_module(PRODUCTS), [x, y])
    flushed = np.where(np.abs(x * y) < TINY, 0, x * y).sum(axis=1)
    assert (np.abs(actual - expected) > 1e-41).any()
    assert (actual != flushed).any()
    assert judge_text(PRODUCTS, [x, y], actual) == LOST
    assert judge_text(PRODUCTS, [x, y], actual + np.float32(2e-37))[0] is Verdict.DIVERGENT


PRODUCT = """
func.func @main(%x: tensor<complex<f32>>, %y: tensor<complex<f32>>) -> tensor<complex<f32>> {
  %0 = stablehlo.OP %x, %y : tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}"""


@pytest.mark.parametrize(
    ("op", "left", "right", "actual", "is_flushed"),
    [
        # 2e-38 - 1e-38, the second product being subnormal
        ("multiply", 1e-19 + 1e-19j, 2e-19 + 1e-19j, 2e-38 + 3e-38j, True),
        ("multiply", 1e-19 + 1e-19j, 2e-19 + 1e-19j, 0 + 3e-38j, True),
        ("multiply", 1e-19 + 1e-19j, 2e-19 + 1e-19j, 5e-39 + 3e-38j, False),
        ("add", 1.5e-38 + 1j, -1.2e-38 + 0j, 1j, True),
        ("add", 1.5e-38 + 1j, -1.2e-38 + 0j, 1.5e-38 + 1j, False),
        ("add", 1.5e-38 + 1j, -1.2e-38 + 0j, 2e-39 + 1j, False),
        ("maximum", 1e-39 + 1e-40j, 1e-40 + 0j, 0j, True),
        ("maximum", 1e-39 + 1e-40j, 1e-40 + 0j, 1e-39 + 3e-40j, False),
    ],
)
def test_flushed_part_of_complex_product_is_zero_or_one_term(
    op: str, left: complex, right: complex, actual: complex, is_flushed: bool
) -> None:
    inputs = [np.array(one, np.complex64) for one in (left, right)]
    found = judge_result(PRODUCT.replace("OP", op), inputs, actual)
    assert (found[0] is Verdict.FLUSHED) == is_flushed


SIGN = """
func.func @main(%x: tensor<complex<f32>>) -> tensor<complex<f32>> {
  %0 = stablehlo.sign %x : tensor<complex<f32>>
  return %0 : tensor<complex<f32>>
}"""


@pytest.mark.parametrize(
    ("number", "actual", "is_flushed"),
    [
        (1e-40 + 1e-39j, 1e-40 - 1e-39j, False),
        (1e-40 + 2e-39j, 1e-40 + 1e-39j, False),
        (1e-20 + 1e-19j, 1e-20 + 1e-19j, False),
    ],
)
def test_sign_of_complex_number_with_flushed_modulus_is_the_number(
    number: complex, actual: complex, is_flushed: bool
) -> None:
    found = judge_result(SIGN, [np.array(number, np.complex64)], actual)
    assert (found[0] is Verdict.FLUSHED) == is_flushed


SLICED = """
func.func @main(%x: tensor<3xf32>) -> tensor<2xf32> {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("got", "verdict"),
    [
        ([0.0, 0.0], Verdict.DIVERGENT),  # a zero beside subnormal numbers keeps its sign
        ([-0.0, 0.0], Verdict.FLUSHED),
        ([-0.0, -0.0], Verdict.FLUSHED),
        ([0.0, 1e-40], Verdict.DIVERGENT),
    ],
)
def test_flushing_explains_no_sign_of_zeros_that_are_moved(
    got: list[float], verdict: Verdict
) -> None:
    program = parse_module(SLICED)
    inputs = (np.array([1e-40, -0.0, 1e-40], np.float32),)
    rule = rule_of(program.main.body.operations[1])
    assert rule is not None
    expected = evaluate(program, inputs)
    judged = judge(program, inputs, expected, (np.array(got, np.float32),), rule)
    assert judged.verdict is verdict
