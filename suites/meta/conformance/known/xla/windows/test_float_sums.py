"""Convolutions of integers that are added up in float64 and cut to the result's type."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.compare import judge_operation
from conformance.known.xla.windows.float_sums import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.types import element_type


def constant_of(name: str, rows: list[list[int]], of: str) -> str:
    """Return the operation that defines a constant."""
    return f"%{name} = stablehlo.constant dense<{rows}> : tensor<{of}>"


def kind_of(
    of: str, x: list[int], kernel: list[int], got: int, to: str = "", *, is_constant: bool = True
) -> str:
    """Return the class of that number for the sum of the products, "" where it is right; `to` is
    the type of the result, if it differs.
    """
    to = to or of
    image, weights = f"%x: tensor<1x2x{of}>", f"%k: tensor<2x1x{of}>"
    program = parse_module(f"""
func.func @main({"" if is_constant else f"{image}, {weights}"}) -> tensor<1x1x{to}> {{
  {constant_of("x", [x], f"1x2x{of}") if is_constant else ""}
  {constant_of("k", [[n] for n in kernel], f"2x1x{of}") if is_constant else ""}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<1x2x{of}>, tensor<2x1x{of}>) -> tensor<1x1x{to}>
  return %0 : tensor<1x1x{to}>
}}""")
    dtype, made = (
        element_type(one.replace("i", "si") if one.startswith("i") else one).storage
        for one in (of, to)
    )
    given = (np.array([x], dtype), np.array(kernel, dtype).reshape(2, 1))
    inputs = () if is_constant else given
    expected, actual = evaluate(program, inputs), (np.array([[got]], made),)
    judged = judge_operation(program, inputs, expected, actual)
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


@pytest.mark.parametrize(
    ("of", "x", "kernel", "right", "cut"),
    [
        ("i32", [2**31 - 1, 1], [1, 2], -(2**31) + 1, 2**31 - 1),
        ("i32", [-(2**31), -1], [1, 2], 2**31 - 2, -(2**31)),
        ("ui8", [200, 100], [1, 1], 44, 255),
        ("i64", [2**62, 2**62], [1, 3], 0, 2**63 - 1),
    ],
)
def test_sums_without_room_stay_at_the_limit(
    of: str, x: list[int], kernel: list[int], right: int, cut: int
) -> None:
    assert kind_of(of, x, kernel, right) == ""
    assert kind_of(of, x, kernel, cut) == LABEL
    assert kind_of(of, x, kernel, cut - 1 if cut > 0 else cut + 1) not in ("", LABEL)


def test_only_constants_are_added_up_in_float64() -> None:
    x, kernel = [2**60 + 1, 1], [1, 1]
    assert kind_of("i64", x, kernel, 2**60, is_constant=False) == "wrong value"
    assert kind_of("i32", [2**31 - 1, 1], [1, 2], 2**31 - 1, is_constant=False) == "wrong value"


def test_integers_of_64_bits_are_rounded_in_float64() -> None:
    x, kernel = [2**60 + 1, 1], [1, 1]
    assert kind_of("i64", x, kernel, 2**60 + 2) == ""
    assert kind_of("i64", x, kernel, 2**60) == LABEL
    assert kind_of("i64", x, kernel, 2**60 + 1) == "wrong value"  # which float64 does not have
    assert kind_of("i64", x, kernel, 2**60 + 2**20) != LABEL


def test_narrow_types_saturate_at_a_byte_before_they_wrap() -> None:
    x, kernel = [7, 7], [7, 7]
    assert kind_of("i4", x, kernel, 98 - 96) == ""
    x, kernel = [-8, -8], [-8, -8]  # 128, and 127 in a byte
    assert kind_of("i4", x, kernel, 0) == ""
    assert kind_of("i4", x, kernel, -1) == LABEL
    assert kind_of("i4", x, kernel, 7) != LABEL


def test_narrower_results_saturate_in_operands_type_before_they_wrap() -> None:
    x, kernel = [2**31 - 1, 2**31 - 1], [1, 1]  # 0xFFFFFFFE, cut to 0x7FFFFFFF
    assert kind_of("i32", x, kernel, -2, "i8") == ""
    assert kind_of("i32", x, kernel, -1, "i8") == LABEL
    assert kind_of("i32", x, kernel, 127, "i8") not in ("", LABEL)
    assert kind_of("i8", [100, 100], [1, 1], 127, "i32") not in ("", LABEL)


def test_sums_within_range_are_exact() -> None:
    assert kind_of("i32", [3, 4], [5, 6], 2**31 - 1) != LABEL
