"""Sums that depend on the order of terms, or that the type of the result lacks."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.tolerance.bounds.contraction import CONTRACTED
from conformance.verdict import Verdict
from generators.families.reduction import padding_of
from generators.regions import bodies
from generators.regions.bodies import BodyBuilder, Monoid, fold_of, literal, selector
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Attribute, Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.ops.xla.contraction import DotDimensionNumbers
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.contractions import DEPTH, ONE_SPATIAL, ROWS, dot_general
from suites.meta.support.ops.reductions import (
    is_open,
    open_in,
    reduction_of,
    reduction_program,
    row,
)
from suites.meta.support.ops.unspecified import Found, array, unspecified_by

F32, F64, F16, BF16, SI32, SI8, UI8, I1, C64 = (
    element_type(name)
    for name in ("f32", "f64", "f16", "bf16", "si32", "si8", "ui8", "i1", "complex<f32>")
)


def test_results_depending_on_number_of_init_values_are_unspecified() -> None:
    numbers = np.array([[1, 9], [2, 3]], np.int32)
    seven = [np.asarray(7, np.int32)]
    assert is_open(fold_of("add", SI32), numbers, inits=seven).all()
    assert is_open(fold_of("maximum", SI32), numbers, inits=seven).tolist() == [True, False]
    assert is_open(fold_of("minimum", SI32), numbers, inits=seven).tolist() == [False, False]
    zero = np.zeros((2, 2), np.int32)
    assert not is_open(fold_of("multiply", SI32), zero, inits=seven).any()
    body = bodies.multi_op_bodies(SI32)[0]
    index = np.array([[0, 0], [1, 1]], np.int32)
    start = [np.asarray(5, np.int32), np.asarray(0, np.int32)]
    assert is_open(body, numbers, index, inits=start).tolist() == [True, False]


def test_sums_that_overflow_in_some_orders_are_unspecified() -> None:
    sum_, big = fold_of("add", F32), 3e38
    assert is_open(sum_, row(F32, big, big, -big))
    assert not is_open(sum_, row(F32, big, big, big))  # in any order
    assert reduction_of(sum_, row(F32, big, big, big)) == np.inf
    assert not is_open(sum_, row(F32, big, -big, 1.0))
    assert not is_open(sum_, row(F32, np.inf, 1, -np.inf))
    assert is_open(sum_, row(F32, np.inf, -big, -big))
    assert not is_open(sum_, row(F32, np.nan, big, big, -big))
    limited = element_type("f8E4M3FN")
    assert is_open(fold_of("add", limited), row(limited, 448, 448))
    assert not is_open(fold_of("add", limited), row(limited, 128, 192))


def test_products_that_leave_the_range_in_some_orders_are_unspecified() -> None:
    body = fold_of("multiply", F32)
    assert is_open(body, row(F32, 1e30, 1e30, 1e-30))
    assert is_open(body, row(F32, 1e-30, 1e-30, 1e30))
    assert not is_open(body, row(F32, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, 1e30))
    assert is_open(body, row(F32, 0, 1e30, 1e30))
    assert not is_open(body, row(F32, 0, np.inf))  # NaN in any order
    assert not is_open(body, row(F32, 2, 3, 0.5))


def test_results_of_a_body_that_is_not_associative_are_unspecified() -> None:
    block = BodyBuilder.of(SI32, SI32)
    region = block.finish_region(block.op("subtract", *block.arguments))
    body = Monoid("difference", region, (SI32,), (literal(0, SI32),), (("bits",),))
    assert is_open(body, np.array([1, 2, 4], np.int32))


def test_folding_one_by_one_is_tried_of_long_rows_too() -> None:
    """Zero times an element at a time; pairs of elements overflow, and zero times that is NaN."""
    block = BodyBuilder.of(F16, F16, F16, F16)
    first, second, third, _ = block.arguments
    products = block.op("multiply", first, third), block.op("multiply", second, third)
    inits = (literal(1, F16), literal(0, F16))
    body = Monoid("products", block.finish_region(*products), (F16, F16), inits, (("bits",),) * 2)
    numbers = row(F16, *[1] * 38, 3e4, 3e4)
    expected = evaluate(*reduction_program(body, [numbers, numbers]))
    assert np.isnan(expected[1])
    actual = (expected[0], row(F16, 0)[0])
    found = judge(
        *reduction_program(body, [numbers, numbers]), expected, actual, CATALOG["reduce"].tolerance
    )
    assert found.verdict is Verdict.UNSPECIFIED


def test_complex_extrema_are_unspecified_where_their_order_is() -> None:
    body = Monoid("maximum", fold_of("maximum", C64).region, (C64,), (literal(-9, C64),), ())
    numbers = np.array([[1 + 2j, 0], [1 + 3j, complex(np.nan, 1)]], np.complex64)
    assert is_open(body, numbers).tolist() == [False, True]
    assert reduction_of(body, numbers)[0] == 1 + 3j


def test_windows_without_elements_and_ties() -> None:
    kind = TensorType((4,), SI32)
    operand = Value("a", kind)
    source, init = Value("b", TensorType((3,), SI32)), Value("c", TensorType((), SI32))

    def program(direction: str, pads: tuple[int, int], window: int) -> Program:
        given: dict[str, Attribute] = {
            "window_dimensions": (window,), "window_strides": (2,), "padding": padding_of((pads,)),
        }  # fmt: skip
        regions = (selector(SI32, direction), fold_of("add", SI32).region)
        return single_op("select_and_scatter", (operand, source, init), (kind,), given, regions)

    numbers = np.array([1, 1, 2, 2], np.int32), np.array([10, 20, 30], np.int32)
    inputs = (*numbers, np.zeros((), np.int32))
    first = evaluate(program("GE", (1, 1), 2), inputs)[0].tolist()
    later = evaluate(program("GT", (1, 1), 2), inputs)[0].tolist()
    assert first == [10, 0, 20, 30]
    assert later == [10, 0, 20, 30]
    ties = evaluate(program("GT", (0, 2), 2), (numbers[0], numbers[1], inputs[2]))[0].tolist()
    assert ties == [0, 10, 0, 20]
    assert open_in(program("GT", (0, 2), 2), inputs).all()  # the last window has no element


def test_a_single_init_value_may_stand_between_any_two_elements() -> None:
    """The body multiplies matrices modulo 4; the init value, no identity, shows only before the
    last.
    """
    of = element_type("ui2")
    matrices = next(b for b in bodies.multi_op_bodies(of) if b.name == "matrices")
    rows = ([0, 3, 2, 2], [2, 1, 0, 2], [1, 2, 3, 0], [0, 3, 2, 3])
    values = [np.array(row, of.storage) for row in rows]
    inits = [np.array(number, of.storage) for number in (2, 0, 0, 1)]
    names = [Value(f"v{n}", TensorType(x.shape, of)) for n, x in enumerate((*values, *inits))]
    types = (TensorType((), of),) * 4
    made = single_op("reduce", names, types, {"dimensions": (0,)}, (matrices.region,))
    expected = evaluate(made, [*values, *inits])
    assert [int(x) for x in expected] == [0, 0, 2, 0]
    actual = [*expected[:3], np.array(2, of.storage)]  # that of M0 M1 M2 I M3
    judgement = judge(made, [*values, *inits], expected, actual, CATALOG["reduce"].tolerance)
    assert judgement.verdict is Verdict.UNSPECIFIED
    actual = [expected[0], np.array(1, of.storage), *expected[2:]]  # 0 by every tree
    judgement = judge(made, [*values, *inits], expected, actual, CATALOG["reduce"].tolerance)
    assert judgement.verdict is Verdict.DIVERGENT


OVERFLOW, NO_NAN = "overflow in a format without infinity", "NaN in a format without NaN"
F8E5M2 = element_type("f8E5M2").storage


def unspecified_positions(program: Program, operands: tuple[Array, ...]) -> dict[str, list[bool]]:
    """Return the flat positions of unspecified elements by label; labels without elements are left
    out."""
    (result,) = evaluate(program, operands)
    found = unspecified_elements(program.subject, operands, result)
    return {label: mask.reshape(-1).tolist() for label, mask in found if mask.any()}


def values_of(*operands: Array) -> tuple[Value, ...]:
    """Return the arguments that take these operands."""
    types = [TensorType(operand.shape, element_type_of(operand)) for operand in operands]
    return tuple(Value(f"v{index}", of) for index, of in enumerate(types))


def unspecified_products(
    lhs: list[list[float]], rhs: list[float], to: str
) -> dict[str, list[bool]]:
    """Return the unspecified products of the rows of lhs with rhs, of f8E5M2."""
    operands = np.array(lhs).astype(F8E5M2), np.array(rhs)[:, np.newaxis].astype(F8E5M2)
    program, _ = dot_general(*operands, to=element_type(to))
    return unspecified_positions(program, operands)


def test_an_infinite_sum_is_unspecified_in_a_type_without_infinity() -> None:
    rows = [[-0.5], [-1.0], [-np.inf]]
    infinite = {OVERFLOW: [False, False, True]}
    assert unspecified_products(rows, [-2.0], "f4E2M1FN") == infinite
    assert unspecified_products(rows, [-2.0], "f8E4M3FN") == infinite
    assert unspecified_products(rows, [-2.0], "f8E5M2FNUZ") == infinite
    assert not unspecified_products(rows, [-2.0], "f8E5M2")
    assert not unspecified_products(rows, [-2.0], "f32")


def test_finite_sums_are_unspecified_only_if_they_overflow() -> None:
    rows = [[4.0, 2.0], [4.0, 3.0], [6.0, 2.0], [-4.0, -4.0]]  # 6 is the largest number, 7 a tie
    assert unspecified_products(rows, [1.0, 1.0], "f4E2M1FN") == {
        OVERFLOW: [False, True, True, True]
    }
    assert unspecified_products([[8.0, -7.0]], [1.0, 1.0], "f4E2M1FN") == {}


@pytest.mark.parametrize(
    ("infinite", "first", "verdict"),
    [
        (-6.0, 1.0, Verdict.UNSPECIFIED),
        (-6.0, 1.5, Verdict.INACCURATE),
        (6.0, 1.0, Verdict.PASS),
    ],
)
def test_elements_beside_unspecified_elements_are_judged(
    infinite: float, first: float, verdict: Verdict
) -> None:
    of = element_type("f4E2M1FN")
    column = np.array([[-0.5], [-1.0], [-np.inf]])
    operands = column.astype(F8E5M2), np.array([[-2.0]]).astype(F8E5M2)
    program, expected = dot_general(*operands, to=of)
    actual = np.array([[first], [2.0], [infinite]]).astype(of.storage)
    found = judge(program, operands, (expected,), (actual,), CONTRACTED)
    assert found.verdict is verdict


def test_overflow_of_convolution_is_unspecified() -> None:
    image = np.array([[[1.0], [2.0], [4.0], [np.inf]]]).astype(F8E5M2)
    kernel = np.array([[[1.0]], [[1.0]]]).astype(F8E5M2)
    values = values_of(image, kernel)
    narrow, wide = (
        single_op("convolution", values, (TensorType((1, 3, 1), element_type(of)),), ONE_SPATIAL)
        for of in ("f4E2M1FN", "f8E5M2")
    )
    assert unspecified_positions(narrow, (image, kernel)) == {OVERFLOW: [False, False, True]}
    assert not unspecified_positions(wide, (image, kernel))


LHS = np.ones((3, 2), np.float32)
EACH = np.ones((2, 2, 1), np.float32)


def row_products(sizes: list[int], lhs: Array = LHS, each: Array = EACH, of: str = "f32") -> Found:
    to = TensorType((3, 1), element_type(of))
    return unspecified_by("chlo.ragged_dot", lhs, each, np.array(sizes, np.int32), to=to, **ROWS)


def put_infinity(given: Array, *at: int) -> Array:
    changed = given.copy()
    changed[at] = np.inf
    return changed


def test_rows_of_no_group() -> None:
    assert row_products([1, 1]) == {"rows of no group": [False, False, True]}
    assert row_products([1, 2]) == {}


def test_a_matrix_of_another_group_is_multiplied_by_zero() -> None:
    found = row_products([1, 2], each=put_infinity(EACH, 0, 1, 0))
    assert found == {"no number in another group": [False, True, True]}
    assert row_products([1, 2], lhs=put_infinity(LHS, 0, 0)) == {}  # only in its own row


@pytest.mark.parametrize("side", [0, 1])
def test_a_row_of_another_sum_is_multiplied_by_zero(side: int) -> None:
    operands = [LHS, LHS]
    operands[side] = put_infinity(LHS, 0, 0)
    to = TensorType((2, 2, 2), element_type("f32"))
    sizes = np.array([1, 2], np.int32)
    found = unspecified_by("chlo.ragged_dot", *operands, sizes, to=to, **DEPTH)
    second = [True, True, False, False] if side == 0 else [True, False, True, False]
    assert found == {"no number in another group": [False] * 4 + second}


def test_a_product_of_complex_numbers_that_are_not_finite() -> None:
    lhs, each = (one.astype(np.complex64) for one in (LHS, EACH))
    assert row_products([1, 2], lhs, each, "complex<f32>") == {}
    lhs[0, 1] = complex(np.inf, -np.inf)
    found = row_products([1, 2], lhs, each, "complex<f32>")
    assert found == {"exception in complex arithmetic": [True, False, False]}


F8E4M3, E8 = "f8E4M3FN", "f8E8M0FNU"


def scaled_product(lhs: list[list[float]], lhs_scale: float, to: str = "f32") -> Found:
    """Return the elements of lhs, with one scale per row, times a column of ones."""
    operands = (
        array(F8E4M3, lhs), array(E8, [[lhs_scale]] * len(lhs)),
        array(F8E4M3, [[1]] * len(lhs[0])), array(E8, [[1]]),
    )  # fmt: skip
    given = {"dimension_numbers": DotDimensionNumbers((1,), (0,)), "preferred_element_type": to}
    of = TensorType((len(lhs), 1), element_type(to))
    return unspecified_by("ScaledDot", *operands, to=of, **given)


def test_a_scaled_number_beyond_bf16_affects_its_row() -> None:
    label = "scaled operand beyond bf16"
    assert scaled_product([[4, 1], [1, 1]], 2.0**126) == {label: [True, False]}
    assert scaled_product([[1, 1], [1, 1]], 2.0**126) == {}
    assert scaled_product([[float("nan"), 1]], 1.0) == {}


def test_sums_beyond_a_limited_type() -> None:
    label = "overflow in a format without infinity"
    assert scaled_product([[448, 448], [1, 1]], 1.0, F8E4M3) == {label: [True, False]}
    assert scaled_product([[448, 448]], 1.0, "bf16") == {}


NOT_FINITE = "infinities, NaNs or overflow in a transform"
UNREAL = "imaginary parts where rfft has none"


def unspecified_transform(
    numbers: object, fft_type: str, *lengths: int, of: str = "complex<f32>"
) -> Found:
    given = {"fft_type": fft_type, "fft_length": lengths}
    return unspecified_by("fft", array(of, numbers), **given)


def test_a_number_that_is_not_finite_affects_its_own_transform() -> None:
    rows = [[1, np.inf], [1, 2], [np.nan, 0]]
    assert unspecified_transform(rows, "FFT", 2) == {
        NOT_FINITE: [True, True, False, False, True, True]
    }


def test_ends_of_a_real_spectrum_are_real() -> None:
    assert unspecified_transform([1j, 1, 1], "IRFFT", 4) == {UNREAL: [True] * 4}
    assert unspecified_transform([1, 1, 1j], "IRFFT", 4) == {UNREAL: [True] * 4}
    assert unspecified_transform([1, 1j, 1], "IRFFT", 4) == {}
    assert unspecified_transform([1, 1, 1j], "IRFFT", 5) == {}  # an odd length has no last element
    assert unspecified_transform([1j, 1, 1], "IFFT", 3) == {}
    assert unspecified_transform(np.zeros((0, 3)), "IRFFT", 4) == {}


def test_rounding_errors_are_no_imaginary_parts() -> None:
    """Tolerated: 8 u log2 4 times the norm, which is 2; u is 2^-24."""
    tolerance = 8 * 2.0**-24 * 2 * 2
    rows = [[1, 2.0**0.5, 1 + 0.9j * tolerance], [1, 2.0**0.5, 1 + 1.1j * tolerance]]
    assert unspecified_transform(rows, "IRFFT", 4) == {UNREAL: [False] * 4 + [True] * 4}
