"""Each fault on one operation: the wrong values by hand, and operations that stay right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.backends.fake import wrong_operations as wrong
from conformance.backends.fake.computation import Computation
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import apply
from reference.ir.program import Value, single_op
from reference.ir.types import Array, element_type
from suites.meta.support.small_programs import array, op_program, tensor_of

F32 = element_type("f32")
NAN, INF = float("nan"), float("inf")
SMALL = 2.0**-140
"""A subnormal number of f32."""


def computation(op: str, *operands: Array, to: str = "f32", of: str = "", **given: Any):
    """Return a right computation; `of` is the operands' element type, `to` by default."""
    types = [tensor_of(*one.shape, of=of or to) for one in operands]
    program = op_program(op, types, tensor_of(*operands[0].shape, of=to), **given)
    results = apply(program.subject, operands)
    return Computation(program, program.subject, operands, results, {})


def faulty(fault: wrong.Wrong, op: str, *operands: Array, **given: Any) -> list[Any]:
    (result,) = fault(computation(op, *operands, **given), operands)
    return result.tolist()


# --- Elements ------------------------------------------------------------------------------------


def test_elements_are_changed_only_where_their_kind_is() -> None:
    x = array([0.0, -0.0, 1.0, NAN, INF])
    bits = np.signbit(wrong.negate_zeros(x))
    assert bits.tolist() == [True, False, False, np.signbit(x[3]), False]
    assert wrong.replace_nan(x).tolist() == [0, 0, 1, 0, INF]
    assert wrong.replace_nan(array([NAN, 2.0], "f8E8M0FNU")).astype(float).tolist() == [1, 2]
    limit = np.finfo(np.float32).max
    assert wrong.replace_infinity(array([INF, -INF, 1.0])).tolist() == [limit, -limit, 1]
    assert wrong.drop_sign(array([-1.0, 2.0, -INF])).tolist() == [1, 2, INF]
    assert np.signbit(wrong.negate_nans(array([NAN, 1.0]))).tolist() == [
        not np.signbit(np.float32(NAN)),
        False,
    ]


def test_ulps_move_finite_numbers_that_stay_finite_and_nonzero() -> None:
    limit = np.finfo(np.float32).max
    x = array([1.0, 0.0, INF, limit, -1.0])
    moved = wrong.move_by_ulps(x, 1)
    assert moved.tolist() == [1 + 2.0**-23, 0, INF, limit, -1 + 2.0**-24]


def test_bfloat16_has_eight_bits() -> None:
    assert wrong.round_to_bfloat16(array([1 + 2.0**-7, 1 + 2.0**-9])).tolist() == [1 + 2.0**-7, 1]
    double = array([1 + 2.0**-9], "f64")
    assert wrong.round_to_bfloat16(double) is double


def test_both_parts_of_complex_numbers_are_changed_and_integers_are_not() -> None:
    z = array([1 - 2j], "complex<f32>")
    assert wrong.each_part(np.negative, z).tolist() == [-1 + 2j]
    whole = array([3], "si32")
    assert wrong.each_part(np.negative, whole) is whole


def test_arithmetic_is_changed_and_moved_elements_are_not() -> None:
    twice = wrong.change_elements(lambda x: x * 2, but=frozenset({"add"}))
    x = array([1.0])
    assert faulty(twice, "multiply", x, x) == [2]
    assert faulty(twice, "add", x, x) == [2]  # right
    assert faulty(twice, "negate", x) == [-2]
    assert faulty(twice, "real", x) == [1]


# --- Subnormal numbers ---------------------------------------------------------------------------


def test_subnormal_operands_and_results_are_flushed() -> None:
    small, one = array([SMALL]), array([1.0])
    assert faulty(wrong.flush_inputs, "add", small, one - 1) == [0]
    assert faulty(wrong.flush_inputs, "negate", small) == [-SMALL]
    normal, half = array([2.0**-126]), array([0.5])
    assert faulty(wrong.flush_inputs, "multiply", normal, half) == [2.0**-127]
    assert faulty(wrong.flush, "multiply", normal, half) == [0]


def test_comparisons_take_subnormal_numbers_as_zeros() -> None:
    small, zero = array([SMALL]), array([0.0])
    assert faulty(
        wrong.compare_flushed, "compare", small, zero, of="f32", to="i1", comparison_direction="GT"
    ) == [False]
    assert faulty(wrong.compare_flushed, "maximum", small, zero) == [0]
    assert faulty(wrong.compare_flushed, "maximum", zero, small) == [SMALL]
    assert faulty(wrong.compare_flushed, "maximum", array([2.0]), zero) == [2]


# --- Integers ------------------------------------------------------------------------------------


def test_operands_of_one_type_are_swapped() -> None:
    assert faulty(wrong.swap_operands, "subtract", array([5.0]), array([3.0])) == [-2]
    assert faulty(wrong.swap_operands, "negate", array([5.0])) == [-5]


def test_integer_arithmetic_saturates() -> None:
    x, y = array([100, -100], "si8"), array([100, -100], "si8")
    assert faulty(wrong.saturate_arithmetic, "add", x, y, to="si8") == [127, -128]
    assert faulty(wrong.saturate_arithmetic, "and", x, y, to="si8") == [100, -100]


def test_integers_of_64_bits_lose_the_upper_half() -> None:
    x = array([(1 << 32) + 5, 1 << 31], "si64")
    assert faulty(wrong.truncate_to_32_bits, "negate", x, to="si64") == [-5, -(1 << 31)]
    u = array([(1 << 32) + 5, 1 << 31], "ui64")
    assert faulty(wrong.truncate_to_32_bits, "or", u, u, to="ui64") == [5, 1 << 31]


def test_unsigned_operands_are_read_as_signed_where_that_matters() -> None:
    x, y = array([200], "ui8"), array([2], "ui8")
    assert faulty(wrong.unsigned_as_signed, "divide", x, y, to="ui8") == [228]  # -56 / 2
    assert faulty(wrong.unsigned_as_signed, "add", x, y, to="ui8") == [202]
    assert faulty(wrong.unsigned_as_signed, "convert", x, of="ui8") == [-56]
    assert faulty(
        wrong.unsigned_as_signed, "compare", x, y, of="ui8", to="i1",
        comparison_direction="LT", compare_type="UNSIGNED",
    ) == [True]  # fmt: skip


def test_shifts_use_the_low_bits_of_the_amount_or_copy_the_sign() -> None:
    x, y = array([-8, -8], "si8"), array([1, 9], "si8")
    logical = faulty(wrong.mask_shifts, "shift_right_logical", x, y, to="si8")
    assert logical == [124, 124]
    signed = faulty(wrong.shift_arithmetically, "shift_right_logical", x, y, to="si8")
    assert signed == [-4, -1]
    assert faulty(wrong.mask_shifts, "add", x, y, to="si8") == [-7, 1]


# --- Rounding and NaN ----------------------------------------------------------------------------


def test_conversions_to_narrow_types_round_twice() -> None:
    """1 + 2^-11 + 2^-40 is above a tie of f16, and the tie itself in f32."""
    x = array([1 + 2.0**-11 + 2.0**-40, 1.5], "f64")
    assert computation("convert", x, of="f64", to="f16").results[0].tolist() == [1 + 2.0**-10, 1.5]
    assert faulty(wrong.round_twice, "convert", x, of="f64", to="f16") == [1, 1.5]


def test_nans_compare_equal_except_in_the_total_order() -> None:
    x = array([NAN, 1.0, NAN])
    y = array([NAN, 1.0, 1.0])
    given: dict[str, Any] = {"of": "f32", "to": "i1"}
    equal = faulty(wrong.compare_nans_equal, "compare", x, y, comparison_direction="EQ", **given)
    assert equal == [True, True, False]
    unlike = faulty(wrong.compare_nans_equal, "compare", x, y, comparison_direction="NE", **given)
    assert unlike == [False, False, True]
    below = faulty(wrong.compare_nans_equal, "compare", x, y, comparison_direction="LT", **given)
    assert below == [False] * 3


# --- Constants and bodies ------------------------------------------------------------------------


@pytest.mark.parametrize("constant", [True, False])
def test_folded_operations_differ_in_their_first_element(constant: bool) -> None:
    x = array([1.0, 2.0])
    made = computation("negate", x)
    given = Computation(made.program, made.operation, (x,), made.results, {}, constant)
    (result,) = wrong.fold_wrongly(given, (x,))
    assert (result == -x).tolist() == [not constant, True]


@pytest.mark.parametrize(("last", "result"), [("abs", 7), ("reshape", 0)])
def test_bodies_with_ops_that_are_not_elementwise_return_their_first_arguments(
    last: str, result: float
) -> None:
    """The sum of 1, 2 and 4 or, of first arguments only, the init value."""
    body = BodyBuilder.of(F32, F32)
    total = body.op("add", *body.arguments, to=F32)
    region = body.finish_region(body.op(last, total, to=F32))
    values = Value("x", tensor_of(3)), Value("i", tensor_of())
    program = single_op("reduce", values, (tensor_of(),), {"dimensions": (0,)}, (region,))
    given = array([1.0, 2.0, 4.0]), array(0.0)
    right = apply(program.subject, given)
    assert right[0].item() == 7
    made = Computation(program, program.subject, given, right, {})
    (found,) = wrong.drop_bodies(made, given)
    assert found.item() == result
