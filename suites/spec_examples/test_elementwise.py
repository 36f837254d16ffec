"""The specification's own examples of the elementwise ops, evaluated by the reference.

The numbers are the specification's (seeds/004), mostly printed with few digits: a result must agree
with the printed digits (`F32_PRINTED`: half a unit of float32's last place for examples that were
computed in f32 and printed as f64). Where the text is wrong or sloppy, `NOTES` says how, and the
test shows that it still is.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Dense, Program, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, Array, element_type_of, from_bits
from reference.ops.elementwise.elementwise import OPS as ELEMENTWISE
from reference.ops.table import OPS

NAN, INF = float("nan"), float("inf")


def of(name: str, values: Any) -> Array:
    return np.array(values).astype(ELEMENT_TYPES[name].storage)


def bits(name: str, values: Any) -> Array:
    width = max(8, ELEMENT_TYPES[name].bits)
    return from_bits(np.array(values, dtype=f"uint{width}"), ELEMENT_TYPES[name])


@dataclass(frozen=True)
class Example:
    op: str
    operands: tuple[Array, ...]
    result: Array
    attributes: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0
    """Relative, for results that the specification prints with a few digits."""

    @property
    def program(self) -> Program:
        operands = tuple(
            Value(name, type_of(array))
            for name, array in zip(OPS[self.op].operands, self.operands, strict=True)
        )
        return single_op(self.op, operands, (type_of(self.result),), self.attributes)


def type_of(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


ONE_TO_FOUR, FIVE_TO_EIGHT = [[1, 2], [3, 4]], [[5, 6], [7, 8]]
FALSE_TRUE = of("i1", [[0, 0], [1, 1]]), of("i1", [[0, 1], [0, 1]])
PI_HALVES = [[0.0, 1.57079632], [3.14159265, 4.71238898]]
PARTS = of("complex<f32>", [1 + 2j, 3 + 4j])
ROUNDED = [-0.8166, -0.2530, 0.2530, 0.8166, 2.0]
F32_PRINTED = 6e-8
"""Examples whose f64 results were printed from f32 results."""


def integers(op: str, lhs: Any, rhs: Any, result: Any, of_type: str = "si32") -> Example:
    return Example(op, (of(of_type, lhs), of(of_type, rhs)), of(of_type, result))


def booleans(op: str, result: Any) -> Example:
    return Example(op, FALSE_TRUE, of("i1", result))


def unary_op(op: str, of_type: str, operand: Any, result: Any, tolerance: float = 0.0) -> Example:
    return Example(op, (of(of_type, operand),), of(of_type, result), tolerance=tolerance)


EXAMPLES: tuple[Example, ...] = (
    unary_op("abs", "si32", [-2, 0, 2], [2, 0, 2]),
    integers("add", ONE_TO_FOUR, FIVE_TO_EIGHT, [[6, 8], [10, 12]]),
    integers("and", ONE_TO_FOUR, FIVE_TO_EIGHT, [[1, 2], [3, 0]]),
    Example(
        "atan2", (of("f64", [0.0, 1.0, -1.0]), of("f64", [0.0, 0.0, 0.0])),
        of("f64", [0.0, 1.57079637, -1.57079637]), tolerance=F32_PRINTED,
    ),
    Example(
        "bitcast_convert", (bits("f64", 0x0123456789ABCDEF),),
        bits("f16", [0xCDEF, 0x89AB, 0x4567, 0x0123]),
    ),
    unary_op("cbrt", "f64", [0.0, 1.0, 8.0, 27.0], [0.0, 1.0, 2.0, 3.0]),
    unary_op("ceil", "f32", ROUNDED, [-0.0, -0.0, 1.0, 1.0, 2.0]),
    Example(
        "clamp", (of("si32", [5, 10, 15]), of("si32", [3, 13, 23]), of("si32", [10, 15, 20])),
        of("si32", [5, 13, 20]),
    ),
    Example(
        "compare", (of("f32", [1.0, 3.0]), of("f32", [1.1, 2.9])), of("i1", [1, 0]),
        {"comparison_direction": "LT", "compare_type": "FLOAT"},
    ),
    Example(
        "complex", (of("f64", [1.0, 3.0]), of("f64", [2.0, 4.0])),
        of("complex<f64>", [1 + 2j, 3 + 4j]),
    ),
    Example(
        "constant", (), of("f32", [[0.0, 1.0], [2.0, 3.0]]),
        {"value": Dense.of(of("f32", [[0, 1], [2, 3]]), TensorType((2, 2), ELEMENT_TYPES["f32"]))},
    ),
    Example("convert", (of("si64", [-1, 0, 1]),), of("complex<f64>", [-1, 0, 1])),
    unary_op("cosine", "f32", PI_HALVES, [[1.0, 0.0], [-1.0, 0.0]]),
    unary_op("count_leading_zeros", "si64", [[0, 1], [128, -1]], [[64, 63], [56, 0]]),
    Example(
        "divide", (of("f32", [17.1, -17.1, 17.1, -17.1]), of("f32", [3.0, 3.0, -3.0, -3.0])),
        of("f32", [5.66666651, -5.66666651, -5.66666651, 5.66666651]),
    ),
    unary_op(
        "exponential", "f64", [[0.0, 1.0], [2.0, 3.0]],
        [[1.0, 2.7182818284590451], [7.3890560989306504, 20.085536923187668]],
    ),
    unary_op("exponential_minus_one", "f64", [0.0, 1.0], [0.0, 1.71828187], F32_PRINTED),
    unary_op("floor", "f32", ROUNDED, [-1.0, -1.0, 0.0, 0.0, 2.0]),
    Example("imag", (PARTS,), of("f32", [2.0, 4.0])),
    Example("iota", (), of("si32", [[i] * 5 for i in range(4)]), {"iota_dimension": 0}),
    Example("iota", (), of("si32", [list(range(5))] * 4), {"iota_dimension": 1}),
    Example(
        "is_finite", (of("f64", [-INF, INF, NAN, -10.0, -0.0, 0.0, 10.0]),),
        of("i1", [0, 0, 0, 1, 1, 1, 1]),
    ),
    unary_op(
        "log", "f64", [[1.0, 2.0], [3.0, 4.0]],
        [[0.0, 0.69314718055994529], [1.0986122886681098, 1.3862943611198906]],
    ),
    unary_op(
        "log_plus_one", "f64", [0.0, -0.999, 7.0, 6.38905621, 15.0],
        [0.0, -6.90776825, 2.07944155, 2.0, 2.77258873], 2e-6,
    ),
    unary_op(
        "logistic", "f64", [[0.0, 1.0], [2.0, 3.0]],
        [[0.5, 0.73105858], [0.88079708, 0.95257413]], 1e-8,
    ),
    integers("maximum", [[1, 2], [7, 8]], [[5, 6], [3, 4]], [[5, 6], [7, 8]]),
    integers("minimum", [[1, 2], [7, 8]], [[5, 6], [3, 4]], [[1, 2], [3, 4]]),
    integers("multiply", ONE_TO_FOUR, FIVE_TO_EIGHT, [[5, 12], [21, 32]]),
    unary_op("negate", "si32", [0, -2], [0, 2]),
    unary_op("negate", "complex<f32>", [2.5 + 0j], [complex(-2.5, -0.0)]),
    unary_op("not", "si32", ONE_TO_FOUR, [[-2, -3], [-4, -5]]),
    unary_op("not", "i1", [1, 0], [0, 1]),
    integers("or", ONE_TO_FOUR, FIVE_TO_EIGHT, [[5, 6], [7, 12]]),
    booleans("or", [[0, 1], [1, 1]]),
    unary_op("popcnt", "si64", [0, 1, 2, 127], [0, 1, 1, 7]),
    Example(
        "power",
        (of("f64", [-2.0, -0.0, -36.0, 5.0, 3.0, 10000.0]), of("f64", [2, 2, 1.1, 2, -1, 10])),
        of("f64", [4.0, 0.0, NAN, 25.0, 0.333333343, 1e40]), tolerance=F32_PRINTED,
    ),
    Example("real", (PARTS,), of("f32", [1.0, 3.0])),
    Example(
        "reduce_precision",
        (bits("f64", [0x7FF0 << 48, 2**63 - 1, 1, 0, 0x40EFFDE000000000, 0x40EFFE0000000000]),),
        bits("f64", [0x7FF0 << 48, 2**63 - 1, 0, 0, 0x40EFFC0000000000, 0x7FF0 << 48]),
        {"exponent_bits": 5, "mantissa_bits": 10},
    ),
    integers("remainder", [17, -17, 17, -17], [3, 3, -3, -3], [2, -2, 2, -2], "si64"),
    unary_op("round_nearest_afz", "f64", [-2.5, 0.4, 0.5, 0.6, 2.5], [-3.0, 0.0, 1.0, 1.0, 3.0]),
    unary_op("round_nearest_even", "f64", [-2.5, 0.4, 0.5, 0.6, 2.5], [-2.0, 0.0, 0.0, 1.0, 2.0]),
    unary_op("rsqrt", "f32", [[1.0, 4.0], [9.0, 25.0]], [[1.0, 0.5], [0.33333343, 0.2]], 4e-7),
    Example(
        "select",
        (of("i1", [[0, 1], [1, 0]]), of("si32", ONE_TO_FOUR), of("si32", FIVE_TO_EIGHT)),
        of("si32", [[5, 2], [3, 8]]),
    ),
    integers("shift_left", [-1, 0, 1], [1, 2, 3], [-2, 0, 8], "si64"),
    integers("shift_right_arithmetic", [-1, 0, 8], [1, 2, 3], [-1, 0, 1], "si64"),
    integers("shift_right_logical", [-1, 0, 8], [1, 2, 3], [2**63 - 1, 0, 1], "si64"),
    unary_op("sign", "f64", [NAN, -1.0, -0.0, 0.0, 1.0], [NAN, -1.0, -0.0, 0.0, 1.0]),
    unary_op("sine", "f32", PI_HALVES, [[0.0, 1.0], [0.0, -1.0]]),
    unary_op("sqrt", "f32", [[0.0, 1.0], [4.0, 9.0]], [[0.0, 1.0], [2.0, 3.0]]),
    integers("subtract", [[6, 8], [10, 12]], FIVE_TO_EIGHT, ONE_TO_FOUR, "f32"),
    unary_op("tan", "f64", PI_HALVES, [[0.0, 1.63312e16], [0.0, 5.44375e15]], 1e-6),
    unary_op("tanh", "f32", [-1.0, 0.0, 1.0], [-0.76159416, 0.0, 0.76159416], F32_PRINTED),
    integers("xor", ONE_TO_FOUR, FIVE_TO_EIGHT, [[4, 4], [4, 12]]),
    booleans("xor", [[0, 1], [1, 0]]),
)  # fmt: skip

NOTES: dict[str, str] = {
    "cosine": "0.0 is printed where cos of the nearest float32 to pi/2 is -4.37e-8 or 1.19e-8",
    "sine": "0.0 is printed where sin of the nearest float32 to pi is -8.74e-8",
    "tan": "the poles are those of the nearest float64 to pi/2 and 3 pi/2, not of the digits given",
    "divide": "5.66666651 is 17/3; the operands given are 17.1 and 3",
    "log_plus_one": "computed from float32 operands, whose -0.999 is 1.3e-8 away",
    "power": "10000^10 is printed as inf, which it is in f32; the example is f64",
}
"""Examples that are right only as their note says."""

WITHIN = {"cosine": 2e-7, "sine": 2e-7}
"""Absolute differences that the notes explain."""

IDS = [f"{example.op}-{index}" for index, example in enumerate(EXAMPLES)]


def evaluate_example(example: Example) -> Array:
    (result,) = evaluate(example.program, example.operands)
    return result


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_example(example: Example) -> None:
    assert check(example.program) == []
    actual = evaluate_example(example)
    assert actual.dtype == example.result.dtype
    assert actual.shape == example.result.shape
    if example.op in ("divide", "tan"):
        return  # test_tan_is_sloppy, test_divide_is_of_17
    np.testing.assert_allclose(
        actual.astype(np.complex128),
        example.result.astype(np.complex128),
        rtol=example.tolerance,
        atol=WITHIN.get(example.op, 0.0),
    )
    if element_type_of(actual).is_float and example.op not in NOTES:
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(example.result))


def test_tan_is_sloppy() -> None:
    """With the operands as printed, no digit of the poles is right; with pi/2 exact they are."""
    example = next(example for example in EXAMPLES if example.op == "tan")
    printed = evaluate_example(example)
    assert np.all(np.abs(printed[:, 1]) < 1e12)
    exact = Example("tan", (np.array([[0.0, np.pi / 2], [np.pi, 3 * np.pi / 2]]),), example.result)
    actual = evaluate_example(exact)
    np.testing.assert_allclose(actual[:, 0], example.result[:, 0], atol=1e-15)
    np.testing.assert_allclose(actual[:, 1], example.result[:, 1], rtol=4e-6)


def test_divide_is_of_17() -> None:
    """The specification prints the quotients of 17, although its operand is 17.1."""
    example = next(example for example in EXAMPLES if example.op == "divide")
    np.testing.assert_allclose(evaluate_example(example), [5.7, -5.7, -5.7, 5.7], rtol=1e-6)
    lhs, rhs = of("f32", [17.0, -17.0, 17.0, -17.0]), example.operands[1]
    actual = evaluate_example(Example("divide", (lhs, rhs), example.result))
    np.testing.assert_array_equal(actual, example.result)


def test_power_overflows_in_f32_only() -> None:
    base, exponent = of("f32", 10000.0), of("f32", 10.0)
    (result,) = evaluate(Example("power", (base, exponent), base).program, (base, exponent))
    assert result == INF


def test_complex_negation_flips_both_signs() -> None:
    example = next(e for e in EXAMPLES if e.op == "negate" and e.result.dtype == np.complex64)
    assert np.signbit(evaluate_example(example).imag).all()


def test_every_elementwise_op_has_an_example() -> None:
    assert {example.op for example in EXAMPLES} == {record.name for record in ELEMENTWISE}
