"""Intermediate subnormal numbers flushed to zero, and signs of products that underflow."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.backends.session import open_session
from conformance.catalog import rule_of
from conformance.judging.compare import judge
from conformance.judging.judgement import Judgement
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import Array

TINY = np.finfo(np.float32).tiny

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


AROUND_PRODUCT = """
func.func @main(%a: tensor<1x{of}>, %b: tensor<1x{of}>, %c: tensor<1x{of}>) -> tensor<1x{of}> {{
  %m = stablehlo.multiply %a, %b : tensor<1x{of}>
  {between}
  %0 = stablehlo.{last} : tensor<1x{of}>
  return %0 : tensor<1x{of}>
}}"""

NEGATE = "%n = stablehlo.negate %m : tensor<1xf32>"

RESHAPE = """%r = stablehlo.reshape %m : (tensor<1xf32>) -> tensor<1x1xf32>
  %n = stablehlo.reshape %r : (tensor<1x1xf32>) -> tensor<1xf32>"""

SELECT = """%p = stablehlo.compare LT, %b, %c : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
  %n = stablehlo.select %p, %m, %c : tensor<1xi1>, tensor<1xf32>"""

BARRIER = "%n = stablehlo.optimization_barrier %m : tensor<1xf32>"
TWICE = "%n = stablehlo.multiply %m, %a : tensor<1xf32>"
DIVIDED = "%n = stablehlo.divide %m, %a : tensor<1xf32>"

SUM_OF_PRODUCTS = """
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<f32>) -> tensor<f32> {
  %m = stablehlo.multiply %a, %b : tensor<2xf32>
  %0 = stablehlo.reduce(%m init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""


def judge_sign(text: str, inputs: list[object], expected: float, got: float, of: str) -> Judgement:
    """Return the judgement on a single result; the reference must compute `expected`."""
    dtype = {"f16": np.float16, "f32": np.float32, "f64": np.float64}[of]
    permitted = PermittedResults(parse_module(text), [np.array(one, dtype) for one in inputs])
    (result,) = permitted.expected
    assert np.signbit(result).all() == np.signbit(expected)
    assert (result == expected).all()
    return judge_program(permitted, [np.full(result.shape, got, dtype)])


@pytest.mark.parametrize(
    ("a", "b", "c", "between", "last", "of"),
    [
        (1e-30, -1e-30, 0.0, "", "add %m, %c", "f32"),
        (1e-30, -1e-30, 0.0, "", "add %c, %m", "f32"),
        (1e-200, -1e-200, 0.0, "", "add %m, %c", "f64"),
        (1e-5, -1e-5, 0.0, "", "add %m, %c", "f16"),
        (1e-30, 1e-30, 0.0, "", "subtract %c, %m", "f32"),
        (1e-30, 1e-30, 0.0, NEGATE, "add %n, %c", "f32"),
        (1e-30, -1e-30, 0.0, RESHAPE, "add %n, %c", "f32"),
        (1e-30, -1e-30, 0.0, SELECT, "add %n, %c", "f32"),
        (-1e-30, 1e-30, 0.0, TWICE, "subtract %c, %n", "f32"),
        (-1e-30, 1e-30, 0.0, DIVIDED, "subtract %c, %n", "f32"),
        (1e-30, -1e-30, 0.0, "%n = stablehlo.add %m, %c : tensor<1xf32>", "add %n, %c", "f32"),
    ],
)
def test_a_tiny_negative_number_may_be_rounded_once(
    a: float, b: float, c: float, between: str, last: str, of: str
) -> None:
    text = AROUND_PRODUCT.format(of=of, between=between, last=last)
    inputs: list[object] = [[a], [b], [c]]
    assert judge_sign(text, inputs, 0.0, -0.0, of).verdict is Verdict.PASS
    smallest = float(np.finfo(np.dtype(f"float{of[1:]}")).smallest_subnormal)
    for wrong in (smallest, -smallest):
        assert judge_sign(text, inputs, 0.0, wrong, of).verdict.fails


@pytest.mark.parametrize(
    ("a", "b", "c", "between", "last", "expected"),
    [
        (0.0, -1.0, 0.0, "", "add %m, %c", 0.0),  # the product is zero, and has a sign
        (1e-30, 1e-30, 0.0, "", "add %m, %c", 0.0),  # tiny, but positive
        (1e-30, 1e-30, -0.0, "", "add %m, %c", 0.0),
        (1e-30, -1e-30, -0.0, "", "add %m, %c", -0.0),
        (1e-30, -1e-30, 0.0, "", "subtract %c, %m", 0.0),
        (1e-30, -1e-30, 0.0, NEGATE, "add %n, %c", 0.0),
        (1e-30, -1e-30, 0.0, BARRIER, "add %n, %c", 0.0),  # the program keeps what was rounded
        (1e-30, -1e-30, 0.0, "", "maximum %m, %m", -0.0),  # no sum: the sign is the product's
        (1e-30, -1e-30, 1.0, "", "multiply %m, %c", -0.0),
        (2.0, -3.0, 6.0, "", "add %m, %c", 0.0),  # exact
    ],
)
def test_other_zeros_keep_their_signs(
    a: float, b: float, c: float, between: str, last: str, expected: float
) -> None:
    text = AROUND_PRODUCT.format(of="f32", between=between, last=last)
    found = judge_sign(text, [[a], [b], [c]], expected, -expected, "f32")
    assert (found.verdict, found.kind) == (Verdict.DIVERGENT, "signed zero")


def test_a_sum_of_tiny_products_may_have_their_sign() -> None:
    tiny: list[object] = [[1e-30, 0.0], [-1e-30, 1.0], 0.0]
    assert judge_sign(SUM_OF_PRODUCTS, tiny, 0.0, -0.0, "f32").verdict is Verdict.PASS
    zeros: list[object] = [[0.0, 0.0], [-1e-30, 1.0], 0.0]
    assert judge_sign(SUM_OF_PRODUCTS, zeros, 0.0, -0.0, "f32").verdict.fails


def test_result_of_xla_on_this_cpu_is_permitted() -> None:
    program = parse_module(AROUND_PRODUCT.format(of="f32", between="", last="add %m, %c"))
    a, b = np.full(1, 1e-30, np.float32), np.full(1, -1e-30, np.float32)
    inputs = [a, b, np.zeros(1, np.float32)]
    actual = open_session("cpu").compile(program).run(inputs)
    assert judge_program(PermittedResults(program, inputs), actual).verdict is Verdict.PASS
