"""Products of matrices by cuBLAS: alpha * lhs . rhs + beta * C, and an epilogue."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from conformance.hlo.custom_calls.cublas import TARGETS, accumulation_type
from conformance.hlo.unreadable import Unreadable
from reference.ir.types import element_type
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    tuple_shape,
)
from suites.meta.support.small_programs import array

LHS, RHS = array([[1.0, 2.0]]), array([[3.0, 0.0], [-5.0, 1.0]])
"""Their product is (-7, 2)."""
NUMBERS = {"lhs_contracting_dimensions": ["1"], "rhs_contracting_dimensions": ["0"]}


def multiply(*operands: np.ndarray, result=None, **config: Any) -> list[Any]:
    given = {"gemm_backend_config": {"dot_dimension_numbers": NUMBERS, "beta": 0, **config}}
    call = custom_call("__cublas$lt$matmul", result or shape("f32", 1, 2), json.dumps(given))
    found = evaluate_instruction(TARGETS["__cublas$lt$matmul"], call, LHS, RHS, *operands)
    return [one.tolist() for one in found]


def test_product_is_scaled_and_a_scaled_matrix_added() -> None:
    assert multiply() == [[[-7.0, 2.0]]]
    assert multiply(alpha_real=2) == [[[-14.0, 4.0]]]
    assert multiply(array([[1.0, 10.0]]), beta=3) == [[[-4.0, 32.0]]]


def test_epilogue_adds_a_vector_and_applies_a_function() -> None:
    assert multiply(epilogue="RELU") == [[[0.0, 2.0]]]
    assert multiply(array([8.0, 1.0]), epilogue="BIAS") == [[[1.0, 3.0]]]
    assert multiply(array([5.0, -9.0]), epilogue="BIAS_RELU") == [[[0.0, 0.0]]]


def test_auxiliary_result_is_the_input_of_the_epilogue() -> None:
    result = tuple_shape(shape("f32", 1, 2), shape("f32", 1, 2), shape("si8", 3))
    after, before, scratch = multiply(result=result, epilogue="GELU_AUX")
    assert before == [[-7.0, 2.0]]
    assert after != before
    assert scratch == [0, 0, 0]


def test_unknown_epilogues_and_operands_are_not_read() -> None:
    with pytest.raises(Unreadable, match="epilogue CUBE"):
        multiply(epilogue="CUBE")
    with pytest.raises(Unreadable, match="1 operands of unknown meaning"):
        multiply(array([1.0, 2.0]))


@pytest.mark.parametrize(
    ("of", "wide"),
    [("bf16", "f32"), ("f32", "f32"), ("f64", "f64"), ("si8", "si32"),
     ("complex<f32>", "complex<f32>")],
)  # fmt: skip
def test_products_are_accumulated_in_a_wider_type(of: str, wide: str) -> None:
    assert accumulation_type(element_type(of)).name == wide
