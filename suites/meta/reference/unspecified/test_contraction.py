"""Unspecified sums of products in types without infinity, and often without NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.tolerance.bounds.contraction import CONTRACTED
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, Program, TensorType, Value, attributes, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.unspecified.contraction import REASONS
from reference.unspecified.table import unspecified_elements
from suites.meta.support.ops.contractions import ONE_SPATIAL, dot_general
from suites.meta.support.ops.unspecified import unspecified_by

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
    types = [TensorType(one.shape, element_type_of(one)) for one in operands]
    return tuple(Value(f"v{number}", of) for number, of in enumerate(types))


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


def test_a_nan_sum_is_unspecified_in_a_type_without_nan() -> None:
    rows = [[np.inf, -np.inf], [np.nan, 1.0], [1.0, 1.0]]
    assert unspecified_products(rows, [1.0, 1.0], "f4E2M1FN") == {NO_NAN: [True, True, False]}
    assert not unspecified_products(rows, [1.0, 1.0], "f8E4M3FN")


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


def test_overflow_of_ragged_products_is_unspecified() -> None:
    rows = np.array([[1.0], [2.0], [np.inf]]).astype(F8E5M2)
    groups = np.array([[[2.0]], [[4.0]]]).astype(F8E5M2)
    operands = rows, groups, np.array([1, 2], np.int32)
    given: dict[str, Any] = {
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,),
        "lhs_ragged_dimensions": (0,), "rhs_group_dimensions": (0,),
    }  # fmt: skip
    values = values_of(*operands)
    narrow, wide = (
        single_op("chlo.ragged_dot", values, (TensorType((3, 1), element_type(of)),), given)
        for of in ("f4E2M1FN", "f8E5M2")
    )
    assert unspecified_positions(narrow, operands) == {OVERFLOW: [False, True, True]}
    assert not unspecified_positions(wide, operands)


# --- The reasons themselves ----------------------------------------------------------------------


def test_sums_of_a_type_without_zero_have_no_first_element() -> None:
    one = np.ones(2).astype(element_type("f8E8M0FNU").storage)
    given: dict[str, Any] = {"epsilon": 1.0, "feature_index": 0}
    (reason,) = REASONS["batch_norm_training"]
    operation = Operation("batch_norm_training", (), (), attributes(**given))
    assert [label for label, _ in reason(operation, (one, one, one), one, 1)] == [
        "sum of a type without zero"
    ]
    assert not reason(operation, (one, one, one), np.ones(2, np.float32), 1)
    assert "batch_norm_inference" not in REASONS  # which sums nothing


def test_complex_sums_may_overflow_in_some_order() -> None:
    """2e38 and its opposite cancel; their magnitudes overflow."""
    lhs = np.array([[2e38, -2e38], [np.inf, 0], [1, 1]], np.complex64)
    rhs = np.ones((2, 1), np.complex64)
    label = "exception in complex arithmetic"
    dimensions = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
    with np.errstate(all="ignore"):
        found = unspecified_by(
            REASONS, "dot_general", lhs, rhs, to=TensorType((3, 1), element_type("complex<f32>")),
            **dimensions,
        )  # fmt: skip
    assert found == {label: [True, True, False]}
