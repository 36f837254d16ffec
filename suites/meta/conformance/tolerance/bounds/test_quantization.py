"""Permitted codes of quantized results: what rounds, and how far off a code may be."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.tolerance.bounds.quantization import (
    QUANTIZED,
    permitted_results,
    quantized_rule,
)
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, QuantizedType, TensorType, Value, single_op
from reference.ir.types import Array
from suites.meta.support.ops.quantized_types import quant
from suites.meta.support.small_programs import array, tensor_of

HALF, TWO, TENTH = quant("si8", (0.5, 0)), quant("si8", (2.0, 0)), quant("si8", (0.1, 0))
ADD = CATALOG["add"].tolerance


def quantized_sum(
    codes: tuple[list[int], list[int]], to: QuantizedType, of: QuantizedType = HALF
) -> tuple[Operation, tuple[Array, ...], tuple[Array, ...]]:
    """Return a sum of quantized numbers, its operands, and its results."""
    line = TensorType((len(codes[0]),), of)
    result = TensorType(line.shape, to)
    program = single_op("add", (Value("a", line), Value("b", line)), (result,))
    operands = tuple(array(one, "si8") for one in codes)
    return program.subject, operands, tuple(evaluate(program, operands))


def test_a_sum_between_two_codes_may_be_either() -> None:
    """1.5 / 2 is 0.75; 4 / 2 is 2 without a rounding."""
    operation, operands, expected = quantized_sum(([3, 4], [0, 4]), TWO)
    (reach,) = permitted_results(ADD, operation, operands, expected)
    assert isinstance(reach, tuple)
    first, last = reach
    assert (first.tolist(), last.tolist()) == ([0, 2], [1, 2])


def test_operands_that_are_no_codes_of_the_result_may_be_rounded_first() -> None:
    """1 + 1 is the code 1 of 2, but 1 is no code: each operand may become 0 or 2."""
    operation, operands, expected = quantized_sum(([2], [2]), TWO)
    assert expected[0].tolist() == [1]
    (reach,) = permitted_results(ADD, operation, operands, expected)
    assert isinstance(reach, tuple)
    assert [one.tolist() for one in reach] == [[0], [2]]


def test_codes_end_with_the_type() -> None:
    operation, operands, expected = quantized_sum(([127, -128], [127, -128]), HALF)
    (reach,) = permitted_results(ADD, operation, operands, expected)
    assert isinstance(reach, tuple)
    assert [one.tolist() for one in reach] == [[127, -128]] * 2


def test_bound_is_the_further_end_and_the_nearer_side_is_excluded() -> None:
    """0.75 rounds to 1; 0 is permitted, 2 is as near to 1 and is not."""
    operation, operands, expected = quantized_sum(([3], [0]), TWO)
    rule = quantized_rule(ADD)
    assert rule.bound is not None
    assert rule.excludes is not None
    (bound,) = rule.bound(operation, operands, expected)
    assert bound is not None
    assert (expected[0].tolist(), bound.tolist()) == ([1], [1])
    for code, wrong in ((0, False), (1, False), (2, True)):
        ((marked,),) = rule.excludes(operation, operands, expected, (array([code], "si8"),))
        assert marked[0] == "wrong value"
        assert marked[1].tolist() == [wrong]


@pytest.mark.parametrize(
    ("number", "codes"),
    [(0.3, (3, 3)), (0.25, (2, 3)), (0.26, (3, 3)), (100.0, (127, 127)), (float("nan"), (0, 0))],
)
def test_quantize_permits_two_codes_only_at_a_tie(number: float, codes: tuple[int, int]) -> None:
    result = TensorType((1,), TENTH)
    program = single_op("uniform_quantize", (Value("a", tensor_of(1)),), (result,))
    operands = (array([number]),)
    expected = tuple(evaluate(program, operands))
    (reach,) = permitted_results(QUANTIZED, program.subject, operands, expected)
    assert isinstance(reach, tuple)
    assert tuple(int(one.item()) for one in reach) == codes


def test_comparison_of_equal_rounded_numbers_may_have_either_result() -> None:
    """3 * 0.1 rounds in f32, and so does 1 * 0.3; 4 * 0.1 is far from it."""
    line, third = TensorType((2,), TENTH), TensorType((2,), quant("si8", (0.3, 0)))
    program = single_op(
        "compare", (Value("a", line), Value("b", third)), (tensor_of(2, of="i1"),),
        {"comparison_direction": "LT"},
    )  # fmt: skip
    operands = array([3, 4], "si8"), array([1, 1], "si8")
    expected = tuple(evaluate(program, operands))
    rule = quantized_rule(CATALOG["compare"].tolerance)
    assert rule.permits is not None
    (free,) = rule.permits(program.subject, operands, expected, expected)
    assert free is not None
    assert free.tolist() == [True, False]


def test_dequantized_numbers_are_off_by_a_rounding_at_most() -> None:
    line = TensorType((2,), TENTH)
    program = single_op("uniform_dequantize", (Value("a", line),), (tensor_of(2),))
    operands = (array([3, 0], "si8"),)
    expected = tuple(evaluate(program, operands))
    (error,) = permitted_results(QUANTIZED, program.subject, operands, expected)
    assert isinstance(error, np.ndarray)
    assert error[1] == 0
    assert error[0] <= 2 * np.spacing(np.float32(0.3))
