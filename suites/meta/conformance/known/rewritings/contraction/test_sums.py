"""Products and quotients that a sum takes unrounded, and sums of products that are taken apart."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.check.settings import Settings
from conformance.gate.reading import load
from conformance.known.rewritings.contraction.moves import CONTRACTED
from conformance.known.rewritings.contraction.sums import TAKEN_APART
from conformance.known.rewritings.contraction.unrounded_terms import QUOTIENT
from conformance.known.rewritings.identities import ADDED, REGROUPED, ROOT
from conformance.results.versions import versions
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ir.types import ELEMENT_TYPES, Array
from suites.meta.support.checking import check_text
from suites.meta.support.rewriting import kind_of

F32, F64 = np.float32, np.float64


PRODUCT = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.multiply %x, %y : tensor<2xf32>
  %1 = stablehlo.{op} {operands} : tensor<2xf32>
  return %1 : tensor<2xf32>
}}"""
LARGE = [np.array(x, F32) for x in ([1e38, 2], [1e38, 3], [-np.inf, 4])]


def test_product_overflowing_only_after_rounding_has_the_class() -> None:
    added = PRODUCT.format(op="add", operands="%0, %z")
    assert kind_of(added, LARGE, np.array([-np.inf, 10], F32)) == CONTRACTED
    assert kind_of(added, LARGE, np.array([-np.inf, 11], F32)) != CONTRACTED
    assert kind_of(added, LARGE, np.array([np.inf, 10], F32)) != CONTRACTED
    from_it = PRODUCT.format(op="subtract", operands="%z, %0")
    assert kind_of(from_it, [*LARGE[:2], -LARGE[2]], np.array([np.inf, -10], F32)) == CONTRACTED


BETWEEN = """
func.func @main(%x: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<2xf32>
  %two = stablehlo.constant dense<2.0> : tensor<2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<2xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<2xf32>
  %most = stablehlo.constant dense<0x7F800000> : tensor<2xf32>
  %0 = stablehlo.multiply %x, {factor} : tensor<2xf32>
  %1 = stablehlo.{between} : tensor<2xf32>
  %2 = stablehlo.add %1, %z : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""


@pytest.mark.parametrize(
    ("between", "factor", "is_contracted"),
    [
        ("divide %0, %one", "%x", True),
        ("multiply %0, %one", "%x", True),
        ("multiply %one, %0", "%x", True),
        ("abs %0", "%x", True),
        ("real %0", "%x", True),
        ("add %zero, %0", "%x", True),
        ("subtract %0, %zero", "%x", True),
        ("minimum %0, %most", "%x", True),
        ("maximum %least, %0", "%x", True),
        ("clamp %least, %0, %most", "%x", True),
        ("maximum %0, %0", "%x", True),
        ("reduce_precision %0, format = e8m23", "%x", True),
        ("convert %0", "%x", True),
        ("maximum %0, %two", "%x", False),
        ("reduce_precision %0, format = e8m22", "%x", False),
        ("clamp %two, %0, %most", "%x", False),
        ("add %0, %two", "%x", False),
        ("divide %0, %z", "%x", False),
        ("floor %0", "%x", False),
        ("abs %0", "%two", False),  # its sign is not known
    ],
)
def test_omitted_operations_do_not_prevent_contraction(
    between: str, factor: str, is_contracted: bool
) -> None:
    text = BETWEEN.format(between=between, factor=factor)
    given = [np.array([2.5e38, 2.5e38], F32), np.array([-np.inf, -np.inf], F32)]
    found = kind_of(text, given, np.array([-np.inf, -np.inf], F32))
    assert (found == CONTRACTED) == is_contracted


FOLD = """
func.func @main(%x: tensor<2x1xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {{
  %init = stablehlo.constant dense<{init}> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<2x1xf32>
  %1 = {fold}
  %2 = stablehlo.add %1, %z : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""
REDUCE = """stablehlo.reduce(%0 init: %init) applies stablehlo.{op} across dimensions = [1]
    : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>"""
REDUCE_WINDOW = """stablehlo.reshape %0 : (tensor<2x1xf32>) -> tensor<2xf32>
  %1 = "stablehlo.reduce_window"(%y, %init) <{{window_dimensions = array<i64: {size}>,
    padding = dense<[[0, {padding}]]> : tensor<1x2xi64>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }}) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>"""


@pytest.mark.parametrize(
    ("fold", "init", "is_contracted"),
    [
        (REDUCE.format(op="minimum"), "0x7F800000", True),
        (REDUCE.format(op="maximum"), "0xFF800000", True),
        (REDUCE.format(op="add"), "-0.0", True),
        (REDUCE.format(op="multiply"), "1.0", True),
        (REDUCE.format(op="multiply"), "2.0", True),  # without the init value
        (REDUCE.format(op="maximum"), "0.0", True),
        (REDUCE_WINDOW.format(size=1, padding=0), "0xFF800000", True),
        (REDUCE_WINDOW.format(size=2, padding=1), "0xFF800000", False),
    ],
)
def test_a_fold_of_a_single_element_does_not_prevent_contraction(
    fold: str, init: str, is_contracted: bool
) -> None:
    text = FOLD.format(init=init, fold=fold).replace(
        "%1 = stablehlo.reshape", "%y = stablehlo.reshape"
    )
    given = [np.array([[3.0], [2.5e38]], F32), np.array([0.0, -np.inf], F32)]
    found = kind_of(text, given, np.array([9.0, -np.inf], F32))
    assert (found == CONTRACTED) == is_contracted


SQUARE = """
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {{
  %c = stablehlo.constant dense<{exponent}> : tensor<1xf32>
  %0 = stablehlo.power %x, %c : tensor<1xf32>
  %1 = stablehlo.subtract %y, %0 : tensor<1xf32>
  return %1 : tensor<1xf32>
}}"""


@pytest.mark.parametrize(("exponent", "is_contracted"), [(2.0, True), (3.0, False)])
def test_a_square_is_a_product(exponent: float, is_contracted: bool) -> None:
    """A product too small for a number still has a sign, which the zero gets."""
    given = [np.array([1e-37], F32), np.array([0], F32)]
    found = kind_of(SQUARE.format(exponent=exponent), given, np.array([-0.0], F32))
    assert (found == CONTRACTED) == is_contracted


QUOTIENT_OF = """
func.func @main(%x: tensor<2x{of}>, %y: tensor<2x2x{of}>) -> tensor<2x2x{of}> {{
  %c = stablehlo.constant dense<{divisor}> : tensor<{of}>
  %cs = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<{of}>) -> tensor<2x{of}>
  %q = stablehlo.divide %x, %cs : tensor<2x{of}>
  %n = stablehlo.negate %q : tensor<2x{of}>
  %b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<2x{of}>) -> tensor<2x2x{of}>
  %s = stablehlo.add %y, %b : tensor<2x2x{of}>
  return %s : tensor<2x2x{of}>
}}"""


@pytest.mark.parametrize(("of", "storage"), [("f32", F32), ("f64", F64)])
def test_a_quotient_by_a_constant_is_a_product_with_its_reciprocal(of: str, storage: type) -> None:
    text = QUOTIENT_OF.format(of=of, divisor="7.0")
    x, y = np.array([700, 21], storage), np.array([[100, 50], [3, 9]], storage)
    reciprocal = Fraction(float(storage(1) / storage(7)))
    exact = [
        [Fraction(float(a)) - Fraction(float(b)) * reciprocal for a in row]
        for row, b in zip(y, x, strict=True)
    ]
    got = np.array([[storage(float(one)) for one in row] for row in exact], storage)
    assert (got != y - x[:, None] / 7).any()
    assert kind_of(text, [x, y], got) == QUOTIENT
    other = got.copy()
    other[0, 0] = np.nextafter(other[0, 0], storage(0))
    assert kind_of(text, [x, y], other) != QUOTIENT
    rest = "\n".join(one for one in text.splitlines() if "constant" not in one)
    repeated = rest.replace("@main(", f"@main(%c: tensor<{of}>, ")
    assert kind_of(repeated, [np.array(7, storage), x, y], got) == QUOTIENT  # as one reciprocal
    as_many = repeated.replace(f"%c: tensor<{of}>", f"%c: tensor<2x{of}>")
    as_many = as_many.replace(f"dims = [] : (tensor<{of}>)", f"dims = [0] : (tensor<2x{of}>)")
    assert kind_of(as_many, [np.array([7, 7], storage), x, y], got) != QUOTIENT


WIDENED = """
func.func @main(%x: tensor<2xbf16>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<2xbf16>
  %q = stablehlo.divide %x, %c : tensor<2xbf16>
  %w = stablehlo.convert %q : (tensor<2xbf16>) -> tensor<2xf32>
  %s = stablehlo.subtract %w, %y : tensor<2xf32>
  return %s : tensor<2xf32>
}"""


def test_conversion_to_narrow_and_back_may_be_omitted() -> None:
    given = [np.array([6, -3], ELEMENT_TYPES["bf16"].storage), np.array([3, -1], F32)]
    exact = [Fraction(n) * Fraction(float(F32(1) / F32(3))) for n in (6, -3)]
    got = np.array([F32(float(exact[0] - 3)), F32(float(exact[1] + 1))], F32)
    assert (got != np.array([-1, 0], F32)).all()
    assert kind_of(WIDENED, given, got) == QUOTIENT
    assert kind_of(WIDENED, given, np.nextafter(got, F32(9))) != QUOTIENT


QUOTIENTS = """
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>, %i: tensor<f32>) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %0 = stablehlo.divide %one, %y : tensor<3xf32>
  %1 = stablehlo.divide %x, %0 : tensor<3xf32>
  %2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}"""


def test_reduce_contracts_products_one_by_one() -> None:
    x, y = np.array([2, 1, 2], F32), np.array([-2e38, 0, 3e38], F32)
    given = [x, y, np.zeros((), F32)]
    # -4e38 is rounded to -inf at the first step, 6e38 is not rounded before it is added
    assert kind_of(QUOTIENTS, given, np.array(-np.inf, F32)) == QUOTIENT
    assert kind_of(QUOTIENTS, given, np.array(1e38, F32)) != QUOTIENT


DOTS = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<2x3xf32>
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %i) applies stablehlo.add across dimensions = [1]
    : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_beside_a_product_that_overflows_sums_may_be_rounded_in_any_order() -> None:
    x = np.array([[1, 2**-24, 2**-24], [1e38, -1e38, 1]], F32)
    y = np.array([[1, 1, 1], [-4, -5, 1]], F32)
    assert kind_of(DOTS, [x, y], np.array([1 + 2**-22, -np.inf], F32)) == CONTRACTED
    assert kind_of(DOTS, [x, y], np.array([1 + 2**-20, -np.inf], F32)) != CONTRACTED


APART = """
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>,
    %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.multiply %a, %b : tensor<3xf32>
  %1 = stablehlo.multiply %c, %d : tensor<3xf32>
  %2 = stablehlo.add %0, %1 : tensor<3xf32>
  %3 = stablehlo.reduce(%2 init: %i) applies stablehlo.add across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}"""
CANCELLING = [np.array(x, F32) for x in ([1, 2**30, 5], [1, 1, 1], [0, 2**30, 1], [0, -1, 1], 0)]


def test_a_sum_of_products_that_is_taken_apart_is_of_the_class() -> None:
    (expected,) = evaluate(parse_module(APART), CANCELLING)
    assert expected == 7
    assert kind_of(APART, CANCELLING, np.array(6, F32)) == TAKEN_APART
    # more than rounding all terms can lose, in any order
    assert kind_of(APART, CANCELLING, np.array(7 + 2**12, F32)) != TAKEN_APART
    small = [CANCELLING[0] % 4, *CANCELLING[1:2], CANCELLING[2] % 4, *CANCELLING[3:]]
    assert kind_of(APART, small, np.array(4, F32)) != TAKEN_APART


COMPLEX = """
func.func @main(%x: tensor<2xcomplex<f64>>, %y: tensor<2xcomplex<f64>>) -> tensor<complex<f64>> {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %0 = stablehlo.multiply %x, %y : tensor<2xcomplex<f64>>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<2xcomplex<f64>>, tensor<complex<f64>>) -> tensor<complex<f64>>
  return %1 : tensor<complex<f64>>
}"""
X = np.array([-4.432673883482995 - 1.0599436913591012j, -2.997766362983331 - 1.4111421964209159j])
Y = np.array([4 + 4j, -4 + 4j])


def test_parts_of_products_of_complex_numbers_are_taken_apart() -> None:
    expected = complex(evaluate(parse_module(COMPLEX), [X, Y])[0])
    off = float(np.nextafter(expected.imag, -np.inf))
    assert kind_of(COMPLEX, [X, Y], np.array(complex(expected.real, off))) == TAKEN_APART
    far = np.array(complex(expected.real, expected.imag - 1e-12))
    assert kind_of(COMPLEX, [X, Y], far) != TAKEN_APART


BY_ROOT = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %z: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = stablehlo.sqrt %y : tensor<2xf32>
  %1 = stablehlo.divide %x, %0 : tensor<2xf32>
  %2 = stablehlo.{op} {operands} : tensor<2xf32>
  return %2 : tensor<2xf32>
}}"""
SEVENTHS = [np.array(x, F32) for x in ([7, 3], [49, 4], [-2, 1])]
"""A quotient of 1, and the product 1 + 2^-24 * 0.75 with the rounded reciprocal of the root."""


def test_the_product_that_a_rewriting_computes_is_contracted() -> None:
    added = BY_ROOT.format(op="add", operands="%1, %z")
    assert kind_of(added, SEVENTHS, np.array([-0.99999994, 2.5], F32)) == ROOT
    assert kind_of(added, SEVENTHS, np.array([-1.00001, 2.5], F32)) != ROOT
    assert kind_of(added, SEVENTHS, np.array([-0.99999994, 2.51], F32)) != ROOT
    given = [*SEVENTHS[:2], -SEVENTHS[2]]
    from_it = BY_ROOT.format(op="subtract", operands="%z, %1")
    assert kind_of(from_it, given, np.array([0.99999994, -2.5], F32)) == ROOT
    to_it = BY_ROOT.format(op="subtract", operands="%1, %z")
    assert kind_of(to_it, given, np.array([-0.99999994, 2.5], F32)) == ROOT


BY_ROOTS = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.sqrt %y : tensor<2xf32>
  %1 = stablehlo.divide %x, %0 : tensor<2xf32>
  %2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [0]
    : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}"""


def test_a_sum_of_many_contracts_the_product_of_a_rewriting() -> None:
    """6e38 overflows only where it is rounded."""
    given = [np.array([-3e38, 3e38], F32), np.array([1, 0.25], F32), np.array(0, F32)]
    assert kind_of(BY_ROOTS, given, np.array(3e38, F32)) == ROOT
    assert kind_of(BY_ROOTS, given, np.array(2.9e38, F32)) != ROOT


REGROUPING = """
func.func @main(%x: tensor<1xf32>, %z: tensor<1xf32>) -> tensor<1xf32> {
  %c = stablehlo.constant dense<1.0e30> : tensor<1xf32>
  %d = stablehlo.constant dense<1.1e-30> : tensor<1xf32>
  %0 = stablehlo.multiply %x, %c : tensor<1xf32>
  %1 = stablehlo.multiply %0, %d : tensor<1xf32>
  %2 = stablehlo.subtract %1, %z : tensor<1xf32>
  return %2 : tensor<1xf32>
}"""
ADDING = """
func.func @main(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> {
  %c = stablehlo.constant dense<-2.0e38> : tensor<1xf32>
  %d = stablehlo.constant dense<-1.0e38> : tensor<1xf32>
  %0 = stablehlo.multiply %x, %y : tensor<1xf32>
  %1 = stablehlo.add %0, %c : tensor<1xf32>
  %2 = stablehlo.add %1, %d : tensor<1xf32>
  return %2 : tensor<1xf32>
}"""


def test_the_product_of_constants_is_contracted() -> None:
    """(x * c) * d overflows; x * (c * d) does not, and is not rounded before z is subtracted."""
    constants = Fraction(float(F32(1e30) * F32(1.1e-30)))
    x, z = F32(1e10), F32(1.1e10)
    exact = Fraction(float(x)) * constants - Fraction(float(z))
    given, got = [np.array([one], F32) for one in (x, z)], np.array([float(exact)], F32)
    assert got[0] != 0
    assert kind_of(REGROUPING, given, got) == REGROUPED
    assert kind_of(REGROUPING, given, got * 8) != REGROUPED


def test_a_product_is_contracted_with_a_sum_that_a_rewriting_computes() -> None:
    """4e38 overflows, unless -3e38 is added to it unrounded."""
    given = [np.array([2e19], F32)] * 2
    exact = Fraction(float(F32(2e19))) ** 2 + Fraction(float(F32(-2e38) + F32(-1e38)))
    assert kind_of(ADDING, given, np.array([float(exact)], F32)) == ADDED
    assert kind_of(ADDING, given, np.array([1.01e38], F32)) != ADDED


# --- On XLA, with what ships --------------------------------------------------------------------

SHIPPED = load(None, ("cpu",), versions())
FROM_THIRDS = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %three = stablehlo.constant dense<3.0> : tensor<2xf32>
  %0 = stablehlo.divide %x, %three : tensor<2xf32>
  %1 = stablehlo.subtract %y, %0 : tensor<2xf32>
  %2 = stablehlo.log_plus_one %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}"""
FLUSHED_TOO = [np.array(x, F32) for x in ([1.8069943] * 3, [-2.4776448e38, 0, 3.3774577e38], 0)]


@pytest.mark.parametrize(
    ("text", "inputs", "known"),
    [
        (APART, CANCELLING, ("sum-of-products-taken-apart",)),
        (COMPLEX, [X, Y], ("sum-of-products-taken-apart",)),
        (
            FROM_THIRDS,
            [np.array([18, -6], F32), np.array([6, -3], F32)],
            ("contracted-quotient-by-a-constant",),
        ),
        (BY_ROOT.format(op="add", operands="%1, %z"), SEVENTHS, ("quotient-by-a-root",)),
        # the reciprocals are subnormal, and flushed where they are results: that changes nothing
        (QUOTIENTS, FLUSHED_TOO, ("contracted-quotient-by-a-constant",)),
    ],
)
@pytest.mark.x86
def test_contraction_by_xla_is_known(
    text: str, inputs: list[Array], known: tuple[str, ...], tmp_path: Path
) -> None:
    names = re.findall(r"%(\w+): ", text)
    given: dict[str, Any] = dict(zip(names, inputs, strict=True))
    np.savez(tmp_path / "in.npz", **given)
    settings = Settings("cpu", inputs=tmp_path / "in.npz", expectations=SHIPPED)
    found = check_text(tmp_path, text, settings)
    assert (found.verdict.fails, found.known, found.is_new_failure) == (True, known, False)
