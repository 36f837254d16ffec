"""Identities of real numbers: the predictions of each model in isolation."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.exponentials import CONSTANT_NAN
from conformance.known.rewritings.identities import (
    ADDED,
    ANGLE_OF_ZEROS,
    BIT_MOVED,
    FACTOR,
    INVERSE,
    LEFT_OUT,
    LOGARITHM,
    LOGISTIC,
    MAGNITUDE,
    MERGED,
    POWER,
    POWER_OF_EXPONENTIAL,
    PRODUCT,
    ROOT,
    UNDONE,
    UNSIGNED,
)
from suites.meta.support.rewriting import kind_of

PROGRAM = """
func.func @main(%x: T, %y: T, %z: T) -> T {{
  %half = stablehlo.constant dense<0.5> : T
  %one = stablehlo.constant dense<1.0> : T
  %two = stablehlo.constant dense<2.0> : T
  {first}
  {last}
  return %r : T
}}"""

IDENTITIES = {
    "a / b / c": (MERGED, "%p = divide %x, %y", "%r = divide %p, %z", (1e30, 1e30, 1e30), 0),
    "a / (b / c)": (MERGED, "%p = divide %y, %z", "%r = divide %x, %p", (1e30, 1e30, 1e20), np.inf),
    "a / b / (b / c)": (
        MERGED,
        "%p = divide %x, %y; %q = divide %y, %z",
        "%r = divide %p, %q",
        (1e30, 1e30, 1),
        0,
    ),
    "x + 1 - 1": (ADDED, "%p = add %x, %one", "%r = subtract %p, %one", (-0.0, 0, 0), -0.0),
    "1 - (1 - x)": (ADDED, "%p = subtract %one, %x", "%r = subtract %one, %p", (-0.0, 0, 0), -0.0),
    "2 + (x - 1)": (
        ADDED,
        "%p = subtract %x, %one",
        "%r = add %two, %p",
        (-(2**24), 0, 0),
        1 - 2**24,
    ),
    "x - 1 + 1": (ADDED, "%p = subtract %x, %one", "%r = add %one, %p", (1e-30, 0, 0), 1e-30),
    "x / 2 + y / 2": (
        FACTOR,
        "%p = multiply %x, %half; %q = multiply %half, %y",
        "%r = add %p, %q",
        (2e38, 2e38, 0),
        np.inf,
    ),
    "x / 2 + y 0.5": (
        FACTOR,
        "%p = divide %x, %two; %q = multiply %half, %y",
        "%r = add %p, %q",
        (2e38, 2e38, 0),
        np.inf,
    ),
    "log(exp(x))": (INVERSE, "%p = exponential %x", "%r = log %p", (100, 0, 0), 100),
    "log(|exp(x)|)": (
        INVERSE,
        "%q = exponential %x; %p = abs %q",
        "%r = log %p",
        (-200, 0, 0),
        -200,
    ),
    "log(exp(x) exp(y))": (
        INVERSE,
        "%q = exponential %x; %s = exponential %y; %p = multiply %q, %s",
        "%r = log %p",
        (100, 50, 0),
        150,
    ),
    "log(exp(x) / exp(y))": (
        INVERSE,
        "%q = exponential %x; %s = exponential %y; %p = divide %q, %s",
        "%r = log %p",
        (100, 50, 0),
        50,
    ),
    "a / b^x": (POWER, "%p = power %y, %z", "%r = divide %x, %p", (1e30, 10, 40), 1e-10),
    "a / logistic(x)": (
        LOGISTIC,
        "%p = logistic %y",
        "%r = divide %x, %p",
        (0.5, 0, 0),
        1 + 2**-23,
    ),
    "logistic(x) / a": (
        LOGISTIC,
        "%p = logistic %y",
        "%r = divide %p, %x",
        (0.5, 0, 0),
        1 - 2**-24,
    ),
    "a / sqrt(x)": (ROOT, "%p = sqrt %y", "%r = divide %x, %p", (41, 1681, 0), 1 - 2**-24),
    "exp(x)^y": (
        POWER_OF_EXPONENTIAL,
        "%p = exponential %x",
        "%r = power %p, %y",
        (100, 0.1, 0),
        np.e**10,
    ),
    "(exp(x) / exp(y))^z": (
        POWER_OF_EXPONENTIAL,
        "%a = exponential %x; %b = exponential %y; %p = divide %a, %b",
        "%r = power %p, %z",
        (1, 1, np.nan),
        np.nan,
    ),
    "exp(x) exp(y)": (
        PRODUCT,
        "%p = exponential %x; %q = exponential %y",
        "%r = multiply %p, %q",
        (100, -99, 0),
        np.e,
    ),
    "exp(x) / exp(y)": (
        PRODUCT,
        "%p = exponential %x; %q = exponential %y",
        "%r = divide %p, %q",
        (100, 99, 0),
        np.e,
    ),
    "1 / exp(x) exp(x)": (
        PRODUCT,
        "%p = exponential %x; %q = divide %one, %p",
        "%r = multiply %q, %p",
        (100, 0, 0),
        1,
    ),
    "sqrt(x^2)": (MAGNITUDE, "%p = power %x, %two", "%r = sqrt %p", (-1e30, 0, 0), 1e30),
    "sqrt(x x)": (MAGNITUDE, "%p = multiply %x, %x", "%r = sqrt %p", (1e-30, 0, 0), 1e-30),
    "(x x)^0.5": (
        MAGNITUDE,
        "%p = multiply %x, %x",
        "%r = power %p, %half",
        (1e30, 0, 0),
        1e30,
    ),
    "log(1 / sqrt(x))": (LOGARITHM, "%p = rsqrt %x", "%r = log %p", (-0.0, 0, 0), np.inf),
    "sqrt(|x x|)": (
        MAGNITUDE,
        "%q = multiply %x, %x; %p = abs %q",
        "%r = sqrt %p",
        (1e-30, 0, 0),
        1e-30,
    ),
}
"""Identities by name: the class, the operations, one element of each operand, and the result."""


@pytest.mark.parametrize("name", IDENTITIES)
def test_result_of_identity_has_its_class(name: str) -> None:
    label, first, last, taken, made = IDENTITIES[name]
    text = _program(first, last)
    given = [np.array([one], np.float32) for one in taken]
    got = np.array([made], np.float32)
    assert kind_of(text, given, got) == label
    assert kind_of(text, given, np.array([3.14], np.float32)) != label
    assert kind_of(text, given, np.array([-5], np.float32)) != label


@pytest.mark.parametrize("name", [name for name in IDENTITIES if name != "1 / exp(x) exp(x)"])
def test_result_of_other_operations_has_another_class(name: str) -> None:
    label, first, last, taken, _ = IDENTITIES[name]
    shown = first.replace("%p = ", "%h = ") + "; %p = tan %h"
    given = [np.array([one], np.float32) for one in taken]
    for wrong in (-7.5, 7.5):  # whatever it is, it is not explained
        assert kind_of(_program(shown, last), given, np.array([wrong], np.float32)) != label


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("%p = add %x, %y", "%r = subtract %p, %y"),
        ("%p = subtract %x, %y", "%r = add %p, %y"),
        ("%p = subtract %x, %y", "%r = add %y, %p"),
    ],
)
def test_a_complex_difference_that_is_undone(first: str, last: str) -> None:
    given = [np.array([one], np.complex64) for one in (1e-9, 1, 0)]
    text = _program(first, last, "complex<f32>", ("(0.5, 0.0)", "(1.0, 0.0)", "(2.0, 0.0)"))
    assert kind_of(text, given, given[0]) == UNDONE
    assert kind_of(text, given, given[0] + 1) != UNDONE
    assert (
        kind_of(text.replace("%p, %y", "%p, %z").replace("%y, %p", "%z, %p"), given, given[0])
        != UNDONE
    )


def _program(
    first: str, last: str, of: str = "f32", constants: tuple[str, str, str] = ("0.5", "1.0", "2.0")
) -> str:
    text = PROGRAM.format(first=first.replace("; ", "\n  "), last=last)
    for one, other in zip(("0.5", "1.0", "2.0"), constants, strict=True):
        text = text.replace(f"<{one}>", f"<{other}>")
    rows = text.replace("T,", f"tensor<1x{of}>,").replace("T)", f"tensor<1x{of}>)")
    rows = rows.replace("-> T", f"-> tensor<1x{of}>").replace(": T", f": tensor<1x{of}>")
    made = []
    for row in rows.splitlines():
        name, is_operation, operation = row.partition(" = ")
        if is_operation and "stablehlo" not in row:
            row = f"{name} = stablehlo.{operation} : tensor<1x{of}>"
        made.append(row)
    return "\n".join(made)


SUM_OF_ONE = """
func.func @main(%x: tensor<{size}xf32>, %y: tensor<{size}xf32>) -> tensor<{size}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<{size}xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<{size}xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<{size}xf32>
  %q = stablehlo.divide %e, %b : tensor<{size}xf32>
  %r = stablehlo.power %q, %y : tensor<{size}xf32>
  return %r : tensor<{size}xf32>
}}"""


@pytest.mark.parametrize(("size", "is_explained"), [(1, True), (2, False)])
def test_a_sum_of_one_exponential_is_that_exponential(size: int, is_explained: bool) -> None:
    given = [np.full(size, 2, np.float32), np.full(size, 0 if size > 1 else np.nan, np.float32)]
    found = kind_of(SUM_OF_ONE.format(size=size), given, np.full(size, np.nan, np.float32))
    assert (found == POWER_OF_EXPONENTIAL) == is_explained


RESHAPED = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %f = stablehlo.{function} : tensor<2xf32>
  %row = stablehlo.reshape %f : (tensor<2xf32>) -> tensor<1x2xf32>
  %g = stablehlo.reshape %row : (tensor<1x2xf32>) -> tensor<2xf32>
  %r = stablehlo.divide %f, %g : tensor<2xf32>
  return %r : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("function", "label"),
    [("power %x, %y", POWER), ("sqrt %x", ROOT), ("logistic %x", LOGISTIC)],
)
def test_a_function_is_seen_through_a_reshape(function: str, label: str) -> None:
    given = [np.full(2, one, np.float32) for one in (0.7, 0.3)]
    off = np.full(2, 1 + 2**-23, np.float32)
    assert kind_of(RESHAPED.format(function=function), given, off) == label
    assert kind_of(RESHAPED.format(function=function), given, off + 1) != label


OVERWRITTEN = """
func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<{size}xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %base = stablehlo.constant dense<5.0> : tensor<{size}xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<{size}xf32>
  %s = stablehlo.add %x, %one : tensor<2xf32>
  %u = stablehlo.dynamic_update_slice %base, %s, %i
    : (tensor<{size}xf32>, tensor<2xf32>, tensor<i32>) -> tensor<{size}xf32>
  %r = stablehlo.subtract %u, %ones : tensor<{size}xf32>
  return %r : tensor<{size}xf32>
}}"""


@pytest.mark.parametrize(("size", "is_explained"), [(2, True), (3, False)])
def test_an_update_of_a_whole_array_is_the_update(size: int, is_explained: bool) -> None:
    given = [np.full(2, -0.0, np.float32), np.array(0, np.int32)]
    got = np.array([-0.0, -0.0, 4.0][:size], np.float32)
    assert (kind_of(OVERWRITTEN.format(size=size), given, got) == ADDED) == is_explained


EXPONENTIAL_OF_NAN = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %p: tensor<2xi1>) -> tensor<2xf32> {{
  %nan = stablehlo.constant dense<[0x7FC00000, 0.0]> : tensor<2xf32>
  {0}
  return %r : tensor<2xf32>
}}"""
T = ": tensor<2xf32>"
EXPONENTIAL = f"%r = stablehlo.exponential %0 {T}"


@pytest.mark.parametrize(
    ("operations", "is_explained"),
    [
        (f"%0 = stablehlo.multiply %x, %nan {T}; {EXPONENTIAL}", True),
        (f"%0 = stablehlo.add %nan, %x {T}; {EXPONENTIAL}", True),
        (f"%0 = stablehlo.multiply %x, %y {T}; {EXPONENTIAL}", False),
        (
            f"%0 = stablehlo.select %p, %nan, %x : tensor<2xi1>, tensor<2xf32>; {EXPONENTIAL}",
            True,
        ),
        (
            (
                f"%0 = stablehlo.optimization_barrier %nan {T}; "
                f"%1 = stablehlo.negate %0 {T}; %r = stablehlo.exponential %1 {T}"
            ),
            True,  # constant to LLVM alone
        ),
        (
            (
                f"%0:2 = stablehlo.optimization_barrier %nan, %y {T}, tensor<2xf32>; "
                f"%r = stablehlo.exponential %0#1 {T}"
            ),
            False,
        ),
        (f"%0 = stablehlo.exponential %x {T}; %r = stablehlo.power %0, %nan {T}", True),
        (f"%0 = stablehlo.exponential %x {T}; %r = stablehlo.power %0, %y {T}", False),
    ],
)
def test_exponential_is_unpredictable_only_for_constant_nan(
    operations: str, is_explained: bool
) -> None:
    text = EXPONENTIAL_OF_NAN.format(operations.replace("; ", "\n"))
    x = np.array([2, 0], np.float32)
    given = [x, np.array([np.nan, 0], np.float32), np.array([True, False])]
    assert (kind_of(text, given, np.array([3.5, 1], np.float32)) == CONSTANT_NAN) == is_explained
    assert kind_of(text, given, np.array([3.5, 1.5], np.float32)) != CONSTANT_NAN


@pytest.mark.parametrize(
    ("taken", "given", "predicted"),
    [("%z", (6, 1, 8), 0), ("%z", (-1, 3, 8), -8), ("%p", (6, 8, 0), 0)],
)
def test_a_quotient_of_integers_by_a_power_is_a_product_with_a_power(
    taken: str, given: tuple[int, int, int], predicted: int
) -> None:
    text = _program("%p = power %x, %y", f"%r = divide {taken}, %p", "i32", ("1", "1", "2"))
    base, exponent, _ = given
    right = (given[2] if taken == "%z" else base**exponent) // base**exponent
    arrays = [np.array([one], np.int32) for one in given]
    wrong = {*range(-9, 10)} - {right}
    found = {got for got in wrong if kind_of(text, arrays, np.array([got], np.int32)) == POWER}
    assert found == {predicted} - {right}


def test_the_negated_exponent_of_an_integer_may_be_cut_to_six_bits() -> None:
    text = _program("%p = power %x, %y", "%r = divide %z, %p", "ui32", ("1", "1", "2"))
    arrays = [np.array([one], np.uint32) for one in (19, 1, 1)]
    for exponent, is_explained in ((63, True), (2**32 - 1, True), (62, False)):
        got = np.array([pow(19, exponent, 2**32)], np.uint32)
        assert (kind_of(text, arrays, got) == POWER) == is_explained


OF_TRUTH_VALUES = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %p = stablehlo.compare GT, %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %q = stablehlo.compare GT, %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %0 = stablehlo.xor %p, %q : tensor<2xi1>
  %1 = stablehlo.convert %0 : (tensor<2xi1>) -> tensor<2xf32>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<2xf32>
  %3 = stablehlo.convert %p : (tensor<2xi1>) -> tensor<2xf32>
  %r = stablehlo.atan2 {operands} : tensor<2xf32>
  return %r : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("operands", "got", "is_explained"),
    [
        ("%1, %1", (np.nan, np.nan), True),
        ("%1, %2", (np.nan, np.nan), True),
        ("%1, %1", (1, 1), False),
        ("%1, %y", (np.nan, np.nan), False),
        ("%3, %1", (np.nan, np.nan), False),
    ],
    ids=["zeros", "moved", "a number", "of a parameter", "not false"],
)
def test_an_angle_of_zeros_is_nan_where_they_are_truth_values(
    operands: str, got: tuple[float, float], is_explained: bool
) -> None:
    given = [np.array([1, 2], np.float32), np.array([2, 0], np.float32)]
    kind = kind_of(OF_TRUTH_VALUES.format(operands=operands), given, np.array(got, np.float32))
    assert (kind == ANGLE_OF_ZEROS) == is_explained


@pytest.mark.parametrize(("first", "label"), [(0, POWER), (1, "wrong value")])
def test_unspecified_element_needs_no_explanation(first: int, label: str) -> None:
    """7 / 2^1 is 7 * 2^-1, which is 0; 7 / 2^-64 is a division by zero, which may be anything."""
    text = """
func.func @main(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %two = stablehlo.constant dense<2> : tensor<2xi32>
  %p = stablehlo.power %two, %y : tensor<2xi32>
  %r = stablehlo.divide %x, %p : tensor<2xi32>
  return %r : tensor<2xi32>
}"""
    given = [np.array([7, 7], np.int32), np.array([1, -64], np.int32)]
    assert kind_of(text, given, np.array([first, 1234], np.int32)) == label


@pytest.mark.parametrize(
    ("between", "constant", "is_explained"),
    [
        ("subtract", 0.0, True), ("multiply", 1.0, True), ("divide", 1.0, True),
        ("subtract", 1.0, False), ("divide", 2.0, False),
    ],
)  # fmt: skip
def test_a_conversion_is_left_out_through_an_operation_without_effect(
    between: str, constant: float, is_explained: bool
) -> None:
    text = f"""
func.func @main(%x: tensor<1xf64>) -> tensor<1xf64> {{
  %c = stablehlo.constant dense<{constant}> : tensor<1xf16>
  %0 = stablehlo.convert %x : (tensor<1xf64>) -> tensor<1xf16>
  %1 = stablehlo.{between} %0, %c : tensor<1xf16>
  %r = stablehlo.convert %1 : (tensor<1xf16>) -> tensor<1xf64>
  return %r : tensor<1xf64>
}}"""
    x = np.array([-1.0656942006445927e166])
    assert (kind_of(text, [x], x) == LEFT_OUT) == is_explained


@pytest.mark.parametrize(
    ("of", "exponent", "mantissa", "moved", "is_explained"),
    [
        ("f16", 4, 11, True, True), ("f32", 7, 24, True, True), ("f64", 10, 53, True, True),
        ("f16", 4, 11, False, False), ("f32", 7, 23, True, False), ("f32", 6, 24, True, False),
    ],
)  # fmt: skip
def test_an_exponent_of_one_bit_less_is_ignored_after_another_operation(
    of: str, exponent: int, mantissa: int, moved: bool, is_explained: bool
) -> None:
    first = "reverse %x, dims = [0]" if moved else "constant dense<0.0>"
    text = f"""
func.func @main(%x: tensor<1x{of}>) -> tensor<1x{of}> {{
  %0 = stablehlo.{first} : tensor<1x{of}>
  %r = stablehlo.reduce_precision {"%0" if moved else "%x"}, format = e{exponent}m{mantissa}
    : tensor<1x{of}>
  return %r : tensor<1x{of}>
}}"""
    x = np.array([1e300 if of == "f64" else 3e38 if of == "f32" else 2e4]).astype(
        f"f{int(of[1:]) // 8}"
    )
    assert (kind_of(text, [x], x) == BIT_MOVED) == is_explained


V = "tensor<1xi32>"


@pytest.mark.parametrize(
    ("operation", "given", "got", "is_explained"),
    [
        ("maximum %a, %y", (-1695353791, 1, 0), 1, True),
        ("maximum %y, %a", (-3, -2, 0), -2, True),
        ("maximum %a, %y", (-3, -2, 0), -3, False),
        ("maximum %a, %b", (-3, -2, 0), 2, True),
        ("maximum %a, %b", (-1, -2, 0), 1, True),
        ("clamp %y, %a, %z", (-3, 1, 2), 1, True),
        ("clamp %c, %a, %z", (-3, 1, 2), 1, False),
        ("minimum %a, %y", (-3, 4, 0), -3, False),
        ("maximum %a, %c", (-3, 0, 0), 1, False),
    ],
)
def test_the_magnitude_in_a_maximum_of_integers_is_left_out(
    operation: str, given: tuple[int, int, int], got: int, is_explained: bool
) -> None:
    text = f"""
    func.func @main(%x: {V}, %y: {V}, %z: {V}) -> {V} {{
      %c = stablehlo.constant dense<1> : {V}
      %a = stablehlo.abs %x : {V}
      %b = stablehlo.abs %y : {V}
      %r = stablehlo.{operation} : {V}
      return %r : {V}
    }}"""
    arrays = [np.array([one], np.int32) for one in given]
    assert (kind_of(text, arrays, np.array([got], np.int32)) == UNSIGNED) == is_explained
