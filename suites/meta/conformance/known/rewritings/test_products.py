"""Sums of products with truth values or with a concatenation, computed by other operations."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.rewritings.identities import SELECTION
from conformance.known.rewritings.products import IN_PARTS, masked_sums, split_contractions
from conformance.known.rewritings.values import ObservedProgram
from conformance.stablehlo.parse import parse_module
from reference.ir.types import ELEMENT_TYPES
from suites.meta.support.checking import values_of
from suites.meta.support.rewriting import kind_of

DOT = """
func.func @main(%p: tensor<2x2x{of}>, %x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.convert %p : (tensor<2x2x{of}>) -> tensor<2x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.dot_general {operands}, contracting_dims = [{one}] x [0]
    : ({types}) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""
MASK = ("%1, %x", 1, "tensor<2x2xf32>, tensor<2xf32>")
VECTOR = ("%x, %1", 0, "tensor<2xf32>, tensor<2x2xf32>")


def dot(of: str, form: tuple[str, int, str]) -> str:
    return DOT.format(of=of, operands=form[0], one=form[1], types=form[2])


@pytest.mark.parametrize(
    ("x", "got", "is_explained"),
    [
        ((np.inf, 1), (1, np.inf), True),
        ((np.inf, 1), (2, np.inf), False),
        ((np.nan, 1), (1, np.nan), True),
        ((np.nan, 1), (1, 1), False),
        ((-np.inf, 1), (1, -np.inf), True),
        ((-np.inf, 1), (1, np.inf), False),
    ],
)
def test_what_is_not_selected_is_no_factor(
    x: tuple[float, float], got: tuple[float, float], is_explained: bool
) -> None:
    """The first row selects the second element, the second row selects both."""
    given = [np.array([[False, True], [True, True]]), np.array(x, np.float32)]
    found = kind_of(dot("i1", MASK), given, np.array(got, np.float32))
    assert (found == SELECTION) == is_explained


SELECTED = """
func.func @main(%p: tensor<2x5xi1>, %x: tensor<5xf32>) -> tensor<2xf32> {
  %0 = stablehlo.convert %p : (tensor<2x5xi1>) -> tensor<2x5xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0]
    : (tensor<2x5xf32>, tensor<5xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("ulps", "is_explained"), [(0, True), (-1, True), (1, True), (8, False), (-8, False)]
)
def test_selected_numbers_are_added_in_any_order(ulps: int, is_explained: bool) -> None:
    """A GPU adds 127.00001 + 1 + 2.084797 in another order than the reference: off by 1 ulp."""
    mask = np.array([[False] * 5, [True, True, False, True, False]])
    x = np.array([127.00001, 1.0, np.nan, 2.084797, 0.0], np.float32)
    total = np.float32(x[[0, 1, 3]].astype(np.float64).sum())
    got = np.array([0, total + ulps * np.spacing(total)], np.float32)
    assert (kind_of(SELECTED, [mask, x], got) == SELECTION) == is_explained


def test_the_other_operand_may_select() -> None:
    given = [np.array([[False, True], [True, True]]), np.array([np.inf, 1], np.float32)]
    got = np.array([1, np.inf], np.float32)
    assert kind_of(dot("i1", VECTOR), given, got) == SELECTION


def test_integers_do_not_select() -> None:
    given = [np.array([[0, 1], [1, 1]], np.int32), np.array([np.inf, 1], np.float32)]
    got = np.array([1, np.inf], np.float32)
    assert kind_of(dot("i32", MASK), given, got) != SELECTION


def test_sums_of_finite_numbers_are_as_they_are() -> None:
    program = parse_module(dot("i1", MASK))
    *_, last, _ = program.main.body.operations
    for first, count in ((2.0, 0), (np.inf, 1)):
        given = [np.array([[False, True], [True, True]]), np.array([first, 1], np.float32)]
        assert (
            len([*masked_sums(ObservedProgram(program, values_of(program, given)), last)]) == count
        )


CONVERTED = """
func.func @main(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.convert %p : (tensor<2xi1>) -> tensor<2xf32>
  %1 = stablehlo.{} : tensor<2xf32>
  %2 = stablehlo.{} : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("divide %y, %0", "divide %x, %1"),  # x / (y / p) as (x * p) / y
        ("minimum %0, %0", "multiply %1, %x"),
        ("maximum %0, %0", "multiply %x, %1"),
    ],
)
def test_truth_value_selects_behind_other_rewritings(first: str, then: str) -> None:
    given = [np.array([False, True]), np.array([-5, -7], np.float32), np.ones(2, np.float32)]
    text = CONVERTED.format(first, then)
    assert kind_of(text, given, np.array([0.0, -7.0], np.float32)) == SELECTION
    assert kind_of(text, given, np.array([1.0, -7.0], np.float32)) != SELECTION


OF = ELEMENT_TYPES["f8E4M3B11FNUZ"].storage
"""Its largest number is 30, and it has no infinity."""

LEFT = """
func.func @main(%x: tensor<1x2x!E>, %y: tensor<1x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 :
    (tensor<1x2x!E>, tensor<1x1x!E>) -> tensor<1x3x!E>
  %z = stablehlo.constant dense<[[5.0], [4.0], [-3.0]]> : tensor<3x1x!E>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")

RIGHT = """
func.func @main(%x: tensor<2x1x!E>, %y: tensor<1x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 :
    (tensor<2x1x!E>, tensor<1x1x!E>) -> tensor<3x1x!E>
  %z = stablehlo.constant dense<[[5.0, 4.0, -3.0]]> : tensor<1x3x!E>
  %1 = stablehlo.dot_general %z, %0, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")

VARIABLE = """
func.func @main(%x: tensor<1x2x!E>, %y: tensor<1x1x!E>, %z: tensor<3x1x!E>) -> tensor<1x1x!E> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 :
    (tensor<1x2x!E>, tensor<1x1x!E>) -> tensor<1x3x!E>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] :
    (tensor<1x3x!E>, tensor<3x1x!E>) -> tensor<1x1x!E>
  return %1 : tensor<1x1x!E>
}""".replace("!E", "f8E4M3B11FNUZ")


def arrays(*of: object) -> list[np.ndarray]:
    return [np.asarray(one, np.float32).astype(OF) for one in of]


X, Y, Z = (4, 4), (4,), (5, 4, -3)
"""4 * 5 + 4 * 4 = 36 overflows, and 36 + 4 * -3 = 24 does not."""


@pytest.mark.parametrize(("text", "shapes"), [(LEFT, ((1, 2), (1, 1))), (RIGHT, ((2, 1), (1, 1)))])
def test_product_with_a_part_may_overflow(text: str, shapes: tuple[tuple[int, int], ...]) -> None:
    given = arrays(np.reshape(X, shapes[0]), np.reshape(Y, shapes[1]))
    (nan, other) = arrays([[np.nan]], [[20.0]])
    assert kind_of(text, given, nan) == IN_PARTS
    assert kind_of(text, given, other) != IN_PARTS


def test_product_with_a_variable_is_not_taken_apart() -> None:
    given = arrays(np.reshape(X, (1, 2)), np.reshape(Y, (1, 1)), np.reshape(Z, (3, 1)))
    (nan,) = arrays([[np.nan]])
    assert kind_of(VARIABLE, given, nan) != IN_PARTS


HALF = LEFT.replace("f8E4M3B11FNUZ", "f16")


@pytest.mark.parametrize(
    ("got", "is_explained"), [(-np.inf, True), (np.inf, True), (np.nan, True), (7.0, False)]
)
def test_product_with_a_part_is_added_to_the_rounded_one(got: float, is_explained: bool) -> None:
    """The products are 90000 and -90000, both beyond f16."""
    given = [np.array([[1e4, 1e4]], np.float16), np.array([[3e4]], np.float16)]
    found = kind_of(HALF, given, np.array([[got]], np.float16))
    assert (found == IN_PARTS) == is_explained


THREE = """
func.func @main(%x: tensor<1x1xf16>, %y: tensor<1x2xf16>) -> tensor<1x1xf16> {
  %0 = stablehlo.concatenate %x, %y, %x, dim = 1 :
    (tensor<1x1xf16>, tensor<1x2xf16>, tensor<1x1xf16>) -> tensor<1x4xf16>
  %z = stablehlo.constant dense<[[4.0], [-4.0], [-4.0], [4.0]]> : tensor<4x1xf16>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] :
    (tensor<1x4xf16>, tensor<4x1xf16>) -> tensor<1x1xf16>
  return %1 : tensor<1x1xf16>
}"""


@pytest.mark.parametrize(("got", "is_explained"), [(-np.inf, True), (np.inf, True), (1, False)])
def test_products_with_three_parts_are_added_in_any_order(got: float, is_explained: bool) -> None:
    """The products are 40000, -80000 and 40000."""
    given = [np.array([[1e4]], np.float16), np.array([[1e4, 1e4]], np.float16)]
    found = kind_of(THREE, given, np.array([[got]], np.float16))
    assert (found == IN_PARTS) == is_explained


def test_products_of_integers_are_added_up() -> None:
    text = HALF.replace("f16", "i32").replace("5.0", "5").replace("4.0", "4").replace("-3.0", "-3")
    program = parse_module(text)
    *_, last, _ = program.main.body.operations
    given = [np.array([[1, 2]], np.int32), np.array([[3]], np.int32)]
    (found,) = split_contractions(ObservedProgram(program, values_of(program, given)), last)
    assert found.result.tolist() == [[4]]
