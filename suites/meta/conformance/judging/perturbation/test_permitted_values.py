"""Values that a program may give: tolerances, NaN, conversions and values computed twice."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.overrides import Override, apply_overrides
from conformance.known.hypothesis import LEFT_OUT
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from conformance.triage.audit import audit
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program, Value
from reference.ir.types import ELEMENT_TYPES, Array
from suites.meta.support.small_programs import array, tensor_of

GRADIENT = """
func.func @main(%x: tensor<6x!E>, %s: tensor<2x!E>, %m: tensor<2x!E>, %v: tensor<2x!E>,
    %g: tensor<3x2x!E>) -> tensor<3x2x!E> {
  %0 = stablehlo.reshape %x : (tensor<6x!E>) -> tensor<3x2x!E>
  %1:3 = "stablehlo.batch_norm_grad"(%0, %s, %m, %v, %g)
    <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
    : (tensor<3x2x!E>, tensor<2x!E>, tensor<2x!E>, tensor<2x!E>, tensor<3x2x!E>)
    -> (tensor<3x2x!E>, tensor<2x!E>, tensor<2x!E>)
  return %1#0 : tensor<3x2x!E>
}""".replace("!E", "f8E4M3FN")


@pytest.mark.parametrize(
    ("place", "got", "is_permitted"),
    [
        # a product of this element's may overflow, which gives NaN in a format without infinities
        ((0, 0), 288.0, True),
        ((0, 0), 320.0, True),  # as XLA for GPUs computes it
        ((0, 0), -448.0, True),
        ((0, 0), np.nan, True),
        # the bound of this element is 2.7
        ((1, 0), -4.5, True),
        ((1, 0), -16.0, False),
        ((1, 0), np.nan, False),
    ],
)
def test_elements_that_may_overflow_have_any_value(
    place: tuple[int, int], got: float, *, is_permitted: bool
) -> None:
    of = ml_dtypes.float8_e4m3fn
    program = parse_module(GRADIENT)
    inputs = [
        np.array(one, of)
        for one in (
            [128, 0, 0, 0, 0, 0], [-0.5, 0], [1, 0], [3, 0], [[0.5625, -0.125], [0.5, 0], [0, 0]],
        )
    ]  # fmt: skip
    (actual,) = evaluate(program, inputs)
    actual[place] = got
    found = judge_program(PermittedResults(program, inputs, Hardware.GPU), (actual,))
    assert (found.verdict is Verdict.PASS) == is_permitted


SUM_OF_ONE = """
func.func @main(%x: tensor<1x2xf32>, %s: tensor<2xf32>, %g: tensor<1x2xf32>) -> tensor<2xf32> {
  %h = stablehlo.negate %g : tensor<1x2xf32>
  %1:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %h)
    <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
    : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>)
    -> (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>)
  return %1#2 : tensor<2xf32>
}"""


def test_a_zero_within_a_bound_may_have_either_sign() -> None:
    """A sum of -0 alone is -0 or 0: an initial 0 may be added any number of times."""
    one, zero = np.ones((1, 2), np.float32), np.zeros((1, 2), np.float32)
    permitted = PermittedResults(parse_module(SUM_OF_ONE), [one, one[0], zero])
    (expected,) = permitted.expected
    assert (expected == 0).all()
    for sign in (0.0, -0.0):
        got = np.full(2, sign, np.float32)
        assert judge_program(permitted, [got]).verdict is Verdict.PASS
    assert judge_program(permitted, [got + np.float32(1e-9)]).verdict.fails


BITS_OF_NAN = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xi32> {
  %0 = FIRST
  %1 = stablehlo.reshape %0 : (tensor<2xf32>) -> tensor<2xf32>
  %2 = stablehlo.bitcast_convert %1 : (tensor<2xf32>) -> tensor<2xi32>
  %3 = stablehlo.not %2 : tensor<2xi32>
  return %3 : tensor<2xi32>
}"""


@pytest.mark.parametrize(
    ("first", "place", "verdict"),
    [
        ("stablehlo.add %x, %x : tensor<2xf32>", 0, Verdict.UNSPECIFIED),
        ("stablehlo.reverse %x, dims = [0] : tensor<2xf32>", 1, Verdict.DIVERGENT),
    ],
)
def test_visible_bits_of_a_computed_nan_are_unspecified(
    first: str, place: int, verdict: Verdict
) -> None:
    program = parse_module(BITS_OF_NAN.replace("FIRST", first))
    inputs = [np.array([np.nan, 2.0], np.float32)]
    (expected,) = evaluate(program, inputs)
    other, wrong = expected.copy(), expected.copy()
    other[place] ^= 256  # another payload
    wrong[1 - place] ^= 1 << 20
    assert judge_program(PermittedResults(program, inputs), [other]).verdict is verdict
    assert judge_program(PermittedResults(program, inputs), [wrong]).verdict is Verdict.DIVERGENT


OVERFLOWING = """
func.func @main(%x: tensor<2x999xcomplex<f64>>) -> tensor<999xcomplex<f64>> {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %0 = stablehlo.multiply %x, %x : tensor<2x999xcomplex<f64>>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2x999xcomplex<f64>>, tensor<complex<f64>>) -> tensor<999xcomplex<f64>>
  return %1 : tensor<999xcomplex<f64>>
}"""


def test_results_of_unspecified_numbers_are_not_nan_by_chance() -> None:
    """Both products of each sum overflow, and complex arithmetic leaves unspecified to what."""
    program = parse_module(OVERFLOWING)
    inputs = [np.stack([np.full(999, 1e200 + 1e200j), np.full(999, 1e200 - 1e200j)])]
    permitted = PermittedResults(program, inputs)
    found = judge_program(permitted, [np.full(999, complex(np.nan, -np.inf))])
    assert found.verdict is Verdict.UNSPECIFIED
    assert found.failing == ()


THERE_AND_BACK = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}"""

REDUCED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.reduce_precision %x, format = e8m7 : tensor<3xf32>
  %1 = stablehlo.negate %0 : tensor<3xf32>
  %2 = stablehlo.negate %1 : tensor<3xf32>
  return %2 : tensor<3xf32>
}"""

COMPARED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xi1> {
  %0 = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  %2 = stablehlo.compare EQ, %1, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %2 : tensor<3xi1>
}"""

SUM_CONVERTED = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xbf16> {
  %0 = stablehlo.multiply %x, %x : tensor<3xf32>
  %1 = stablehlo.add %0, %x : tensor<3xf32>
  %2 = stablehlo.convert %1 : (tensor<3xf32>) -> tensor<3xbf16>
  return %2 : tensor<3xbf16>
}"""

X = np.array([1.0, 0.9999, 3.001], np.float32)


def judge_result(text: str, actual: Array):
    return judge_program(PermittedResults(parse_module(text), (X,)), (actual,))


@pytest.mark.parametrize("text", [THERE_AND_BACK, REDUCED])
def test_a_conversion_left_out_has_a_class(text: str) -> None:
    (expected,) = evaluate(parse_module(text), (X,))
    assert not np.array_equal(expected, X)
    assert judge_result(text, expected).verdict is Verdict.PASS
    judgement = judge_result(text, X)
    assert (judgement.verdict, judgement.kind) == (Verdict.DIVERGENT, LEFT_OUT)
    assert judge_result(text, X + np.float32(0.1)).kind != LEFT_OUT


def test_truth_values_that_depend_on_a_conversion_left_out_have_the_class() -> None:
    judgement = judge_result(COMPARED, np.ones(3, np.bool_))
    assert (judgement.verdict, judgement.kind) == (Verdict.DIVERGENT, LEFT_OUT)


def test_rounding_before_conversion_may_change_its_result() -> None:
    (expected,) = evaluate(parse_module(SUM_CONVERTED), (X,))
    fused = (X.astype(np.float64) * X + X).astype(expected.dtype)
    assert judge_result(SUM_CONVERTED, fused).verdict is Verdict.PASS


NARROWED = """
func.func @main(%x: tensor<ui16>) -> tensor<ui16> {
  %0 = stablehlo.convert %x : (tensor<ui16>) -> tensor<ui8>
  %1 = stablehlo.convert %0 : (tensor<ui8>) -> tensor<ui16>
  return %1 : tensor<ui16>
}"""


def test_an_unspecified_value_excuses_nothing_that_contradicts_the_backends_value() -> None:
    """Eight bits cannot represent 1007, so the conversion is unspecified; 1007 itself is not."""
    program, inputs = parse_module(NARROWED), (np.array(1007, np.uint16),)

    def run(subject: Program, sets: list[tuple[Array, ...]]) -> list[list[Array]]:
        names = [value.name for value in subject.main.body.operations[-1].operands]
        last = program.main.body.operations[-1].operands[0].name
        found = [list(evaluate(subject, one)) for one in sets]
        return [
            [one[0] if name == last else array for name, array in zip(names, arrays, strict=True)]
            for one, arrays in zip(sets, found, strict=True)
        ]

    made = audit(run, "cpu", program, inputs, [0])
    assert made is not None
    assert [one.operation for one in made.wrong] == [program.main.body.operations[1]]


MASKED = """
func.func @main(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x8xf32> {{
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
  %m = stablehlo.multiply %x, %b : tensor<2x8xf32>
  {between}
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%k init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
  %d = stablehlo.subtract %k, %rb : tensor<2x8xf32>
  return %d : tensor<2x8xf32>
}}"""

RESHAPED = "%k = stablehlo.reshape %m : (tensor<2x8xf32>) -> tensor<2x8xf32>"
KEPT = "%k = stablehlo.optimization_barrier %m : tensor<2x8xf32>"
OPERAND = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
SCALE = np.array(0.35355338, np.float32)


def contracted_difference(factor: float = 1.0) -> Array:
    """Return the difference with the product within it not rounded, as one contracted operation has
    it.
    """
    rounded = (OPERAND * SCALE).max(axis=1, keepdims=True).astype(np.float64)
    exact = OPERAND.astype(np.float64) * float(SCALE)
    found = exact - rounded
    return np.where(np.abs(found) < 1e-6, factor * found, found).astype(np.float32)


@pytest.mark.parametrize(
    ("between", "factor", "verdict"),
    [
        (RESHAPED, 1.0, Verdict.PASS),
        (RESHAPED, 64.0, Verdict.DIVERGENT),
        (KEPT, 1.0, Verdict.DIVERGENT),  # there is one value, which was rounded
    ],
)
def test_a_value_may_be_computed_twice(between: str, factor: float, verdict: Verdict) -> None:
    program = parse_module(MASKED.format(between=between))
    permitted = PermittedResults(program, [OPERAND, SCALE])
    assert (permitted.expected[0] != contracted_difference()).any()
    assert judge_program(permitted, [contracted_difference(factor)]).verdict is verdict


QUOTIENT = """
func.func @main(%x: tensor<4xTYPE>, %n: tensor<SHAPExTYPE>) -> tensor<SHAPExTYPE> {
  %r = stablehlo.reshape %x : (tensor<4xTYPE>) -> tensor<SHAPExTYPE>
  %e = FUNCTION
  %init = stablehlo.constant dense<INIT> : tensor<TYPE>
  %s = stablehlo.reduce(%e init: %init) applies stablehlo.BODY across dimensions = [1]
    : (tensor<SHAPExTYPE>, tensor<TYPE>) -> tensor<ROWSxTYPE>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<ROWSxTYPE>) -> tensor<SHAPExTYPE>
  BETWEEN
  %q = stablehlo.divide %e, %k : tensor<SHAPExTYPE>
  %p = stablehlo.power %q, %n : tensor<SHAPExTYPE>
  return %p : tensor<SHAPExTYPE>
}"""

DEFAULTS = {
    "FUNCTION": "stablehlo.exponential %r : tensor<SHAPExTYPE>", "TYPE": "f32",
    "INIT": "0.0", "BODY": "add", "BETWEEN": "%k = stablehlo.reshape %b"
    " : (tensor<SHAPExTYPE>) -> tensor<SHAPExTYPE>", "SHAPE": "4x1", "ROWS": "4",
}  # fmt: skip

LEAST = "0xFF800000"
TYPES = {name: ELEMENT_TYPES[name].storage for name in ("f64", "f32", "f16", "bf16")}


def quotient(**parts: str) -> str:
    """Return a program of a power of a value over the sums of its rows, some parts replaced."""
    text = QUOTIENT
    chosen = DEFAULTS | parts
    for name in ("FUNCTION", "BETWEEN", "INIT", "BODY", "SHAPE", "ROWS", "TYPE"):
        text = text.replace(name, chosen[name])
    return text


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ({}, Verdict.DIVERGENT),
        ({"FUNCTION": "stablehlo.logistic %r : tensor<SHAPExTYPE>"}, Verdict.DIVERGENT),
        ({"BODY": "maximum", "INIT": LEAST}, Verdict.DIVERGENT),
        ({"TYPE": "f64"}, Verdict.DIVERGENT),
        # a barrier keeps its operand: that is not computed again
        ({"BETWEEN": "%k = stablehlo.optimization_barrier %b : tensor<SHAPExTYPE>"}, Verdict.PASS),
        # narrow types: both are rounded, or neither
        ({"TYPE": "f16"}, Verdict.DIVERGENT),
        ({"TYPE": "bf16"}, Verdict.DIVERGENT),
        # products are taken into what follows unrounded
        ({"FUNCTION": "stablehlo.multiply %r, %r : tensor<SHAPExTYPE>"}, Verdict.PASS),
        # no neutral elements
        ({"BODY": "maximum", "INIT": "1.0e-3"}, Verdict.PASS),
        ({"INIT": "1.0e-30"}, Verdict.PASS),
        # sums of two elements
        ({"SHAPE": "2x2", "ROWS": "2"}, Verdict.PASS),
        # elements at other positions
        (
            {"BETWEEN": "%k = stablehlo.reverse %b, dims = [0] : tensor<SHAPExTYPE>"},
            Verdict.PASS,
        ),
    ],
)  # fmt: skip
def test_one_operation_has_the_same_elements_of_a_value_once(
    parts: dict[str, str], verdict: Verdict
) -> None:
    """1 to the power of NaN is 1, of a number beside 1 it is NaN."""
    program = parse_module(quotient(**parts))
    of = TYPES[parts.get("TYPE", "f32")]
    x = np.full(4, 0.7, of)
    if "SHAPE" in parts:
        x = np.array([0.7, -200, -200, 0.7], of)  # rows of which one element is all of the sum
    n = np.full((2, 2) if "SHAPE" in parts else (4, 1), np.nan, of)
    permitted = PermittedResults(program, [x, n])
    assert (permitted.expected[0] == 1).any()
    assert judge_program(permitted, [n]).verdict is verdict


def test_every_operation_has_its_own_version_of_the_same_elements() -> None:
    more = "%q = stablehlo.divide %e, %k : tensor<4x1xf32>"
    text = quotient().replace(more, more + more.replace("%q", "%t"))
    text = text.replace("power %q, %n", "subtract %q, %t")
    permitted = PermittedResults(
        parse_module(text), [np.full(4, 0.7, np.float32), np.ones((4, 1), np.float32)]
    )
    assert all((one == 0).all() for (one,) in permitted.moved_samples())


ADD = Operation(
    "add", (Value("x", tensor_of(3)), Value("y", tensor_of(3))), (Value("r", tensor_of(3)),)
)

WANT = array([1.0, 2.0, 3.0])
GOT = array([1.0, 2.5, np.inf])


def shift(result: Array, expected: Array = WANT, actual: Array = GOT) -> Array:
    (found,) = Override(ADD, (expected,), (actual,)).shift_results((result,))
    return found


def test_result_that_becomes_nan_stays_nan() -> None:
    found = shift(array([1.0, np.nan, 3.0]))
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(ADD), True),
        (replace(ADD, name="subtract"), False),
        (replace(ADD, results=(Value("s", tensor_of(3)),)), False),
    ],
)
def test_override_is_for_one_operation(other: Operation, same: bool) -> None:
    (found,) = apply_overrides(other, (WANT,), [Override(ADD, (WANT,), (GOT,))])
    assert (found is WANT) is not same
