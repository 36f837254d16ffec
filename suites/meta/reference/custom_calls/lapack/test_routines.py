"""Targets of decompositions and of the largest elements: names, options, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference.custom_calls.lapack.routines import (
    CALLS,
    TARGETS,
    TOP_K,
    comparison_direction,
    routine_call,
    top_elements,
)
from reference.ir.errors import EvaluationError
from reference.ir.program import Operation, Region, TensorType, TupleType, Value
from reference.ir.types import element_type

F32 = element_type("f32")
SCALAR, VECTOR = TensorType((), F32), TensorType((2,), F32)
A, B = Value("a", SCALAR), Value("b", SCALAR)
EYE = np.eye(2, dtype=np.float32)


def comparator(comparison_direction: str, lhs: Value = A, rhs: Value = B) -> Region:
    result = Value("r", TensorType((), element_type("i1")))
    given = (("comparison_direction", comparison_direction),)
    body = (Operation("compare", (lhs, rhs), (result,), given), Operation("return", (result,)))
    return Region((A, B), body)


def test_a_target_names_the_letter_of_its_type() -> None:
    assert {f"lapack_{of}potrf_ffi" for of in "sdcz"} <= set(TARGETS)
    assert TARGETS["lapack_zungqr_ffi"].name == TARGETS["lapack_dorgqr_ffi"].name == "orgqr"
    assert "lapack_zorgqr_ffi" not in TARGETS
    assert "lapack_dheevd_ffi" not in TARGETS


def test_options_are_the_entries_of_the_configuration() -> None:
    call = routine_call((EYE,), {"mhlo.backend_config": (("uplo", 76, "ui8"),)})
    assert call.options == {"uplo": 76}
    assert routine_call((EYE,), {"backend_config": "1,0"}).options == {"text": "1,0"}
    assert routine_call((EYE,), {}).options == {}


def test_a_tuple_of_results_is_taken_apart_and_given_back() -> None:
    types = (TensorType((2, 2), F32), VECTOR)
    assert routine_call((EYE,), {"results": (TupleType(types),)}).results == types
    (found,) = CALLS["Qr"]((EYE,), {"results": (TupleType(types),)})
    assert len(found) == 2


def test_results_that_the_program_does_not_take_are_left_out() -> None:
    taken = CALLS["lapack_sgetrf_ffi"]((EYE,), {"results": (TensorType((2, 2), F32),)})
    assert [one.shape for one in taken] == [(2, 2)]
    assert len(CALLS["lapack_sgetrf_ffi"]((EYE,), {})) == 3


@pytest.mark.parametrize("inputs", [(), (EYE, None)])
def test_routines_take_arrays_only(inputs: tuple[Any, ...]) -> None:
    with pytest.raises(EvaluationError, match="getrf takes arrays only"):
        CALLS["lapack_sgetrf_ffi"](inputs, {})


def test_a_wrong_shape_is_an_error_of_the_call() -> None:
    with pytest.raises(EvaluationError, match="ormqr: "):
        CALLS["lapack_sormqr_ffi"]((EYE, EYE[0], np.ones((3, 1), np.float32)), {})


def test_the_direction_of_a_comparator_of_its_first_two_arguments() -> None:
    assert comparison_direction((comparator("GT"),)) == "GT"
    assert comparison_direction((comparator("LT"),)) == "LT"
    assert comparison_direction((comparator("GE"),)) is None
    assert comparison_direction((comparator("GT", B, A),)) is None
    assert comparison_direction(()) is None
    assert comparison_direction((comparator("GT"),) * 2) is None


def test_top_elements_keep_the_order_of_equal_elements() -> None:
    values = np.array([[1, 3, 3, 2]], np.float32)
    numbers = np.arange(4, dtype=np.int32)[None]
    found = top_elements(values, numbers, 1, 3, largest=True)
    assert [one.tolist() for one in found] == [[[3, 3, 2]], [[1, 2, 3]]]
    found = top_elements(values, numbers, 1, 2, largest=False)
    assert [one.tolist() for one in found] == [[[1, 2]], [[0, 3]]]


def test_top_elements_of_the_largest_unsigned_integers() -> None:
    values = np.array([0, 2**64 - 1, 5], np.uint64)
    found = top_elements(values, np.arange(3), 0, 1, largest=True)
    assert found[0].tolist() == [2**64 - 1]


class _Computation:
    """A called function; top_k reads its region."""

    def __init__(self, region: Region) -> None:
        self.region = region


@pytest.mark.parametrize(
    ("compared", "aggregated", "message"),
    [("GE", True, "comparators other than GT and LT"), ("GT", False, "unless `aggregate_to_topk`")],
)
def test_top_k_refuses_what_depends_on_the_backend(
    compared: str, aggregated: bool, message: str
) -> None:
    options = (
        ("aggregate_to_topk", aggregated, "i1"),
        ("reduction_dim", 0, "i64"),
        ("top_k", 1, "i64"),
    )
    given = {"computations": (_Computation(comparator(compared)),), "backend_config": options}
    inputs = (np.array([1, 2], np.float32), np.arange(2, dtype=np.int32))
    with pytest.raises(EvaluationError, match=message):
        CALLS[TOP_K](inputs, given)
    given = {"computations": (_Computation(comparator("LT")),), "backend_config": options[1:]}
    assert [one.tolist() for one in CALLS[TOP_K](inputs, given)] == [[1], [0]]
