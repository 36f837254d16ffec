"""Results of quantized operations, sums of products and collectives, and digests of failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge, judge_operation, judge_sets
from conformance.judging.digests import digest_elements
from conformance.judging.processes import process_results
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import DATA, EXPONENTIAL
from conformance.verdict import Element, Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import QuantizedType, TensorType, Value, single_op
from reference.ir.types import Array
from suites.meta.support.ops.quantized_types import F32, quant
from suites.meta.support.small_programs import array, op_program, tensor_of


def verdicts(
    op: str, operands: list[tuple[QuantizedType, list[int]]], to: QuantizedType, off: list[int]
) -> list[bool]:
    """Return whether results that are so many codes off the reference's are permitted,
    one by one.
    """
    types = [TensorType((len(codes),), of) for of, codes in operands]
    values = tuple(Value(f"a{number}", of) for number, of in enumerate(types))
    program = single_op(op, values, (TensorType(types[0].shape, to),))
    given = [np.array(codes, of.storage_type.storage) for of, codes in operands]
    (right,) = evaluate(program, given)
    rule = rule_of(program.subject)
    found: list[bool] = []
    for index, step in enumerate(off):
        wrong = right.copy()
        wrong[index] += step
        verdict = judge(program, given, [right], [wrong], rule).verdict
        found.append(verdict is Verdict.PASS)
    return found


def test_exact_results_must_be_equal() -> None:
    """Numbers that are codes without any rounding, and those beyond the last code by far."""
    half, two = quant("si8", (0.5, 0)), quant("si8", (2.0, 0))
    operands = [(half, [4, -8, 0, 4]), (half, [8, 4, 4, -4])]
    assert verdicts("add", operands, two, [1, 1, -1, 1]) == [False] * 4
    operands = [(two, [127, -128, 90]), (two, [100, -3, 90])]
    assert verdicts("add", operands, half, [-1, 1, -1]) == [False] * 3


def test_rounded_results_may_be_one_code_off() -> None:
    """Arithmetic on integers may convert each operand to the result's scale first."""
    half, two = quant("si8", (0.5, 0)), quant("si8", (2.0, 0))
    operands = [(half, [1, 1, 3, 5]), (half, [1, 1, 0, 4])]
    # 1 / 2 is nearest to 0, and to 1; 1.5 / 2 and 4.5 / 2 lie between codes too
    assert verdicts("add", operands, two, [1, -1, -1, 2]) == [True, False, True, False]


def test_conversions_give_the_code_of_a_number_within_reach() -> None:
    of = quant("si8", (0.1, 0))
    given = np.array([0.25, 0.1, 0.35000002], np.float32)  # the first of which is a tie
    line = TensorType((3,), F32)
    program = single_op("uniform_quantize", (Value("a", line),), (TensorType((3,), of),))
    (right,) = evaluate(program, [given])
    rule = CATALOG["uniform_quantize"].tolerance
    for index, step, permitted in ((0, 1, True), (0, -1, False), (1, 1, False), (0, 2, False)):
        wrong = right.copy()
        wrong[index] += step
        verdict = judge(program, [given], [right], [wrong], rule).verdict
        assert (verdict is Verdict.PASS) == permitted, (index, step)


def test_two_roundings_of_a_tie_are_permitted() -> None:
    """The text has two, a quotient and a sum; a product with the reciprocal has three."""
    of, line = quant("si8", (0.1, 0)), TensorType((400,), F32)
    ties = np.repeat(np.arange(27, 127) + 0.5, 4)
    near = (ties * np.float64(np.float32(0.1))).astype(np.float32)
    given = (near.view(np.int32) + np.tile(np.arange(-1, 3, dtype=np.int32), 100)).view(np.float32)
    program = single_op("uniform_quantize", (Value("a", line),), (TensorType((400,), of),))
    (right,) = evaluate(program, [given])
    wrong = (2 * ties - right).astype(np.int8)  # the code on the other side of the tie
    quotient = given.astype(np.float64) / np.float32(0.1).astype(np.float64)
    apart = np.abs(quotient - ties) / (quotient * 2.0**-24)
    rule = CATALOG["uniform_quantize"].tolerance
    for least, most, kind in ((0.0, 2.0, ""), (2.0, 99.0, "wrong value")):
        chosen = (apart > least) & (apart < most)
        assert chosen.any()
        found = judge(program, [given], [right], [np.where(chosen, wrong, right)], rule)
        assert found.kind == kind


def test_unspecified_and_wrong_results_have_different_verdicts() -> None:
    of = quant("si8", (1.0, 0))
    line = TensorType((3,), of)
    program = single_op("divide", (Value("a", line), Value("b", line)), (line,))
    given = [np.array([0, 1, 6], np.int8), np.array([0, 0, 2], np.int8)]
    rule = rule_of(program.main.body.operations[0])
    (right,) = evaluate(program, given)
    assert right.tolist() == [0, 127, 3]
    for wrong, verdict in (
        ([5, 127, 3], Verdict.UNSPECIFIED), ([0, -128, 3], Verdict.DIVERGENT),
    ):  # fmt: skip
        judged = judge(program, given, [right], [np.array(wrong, np.int8)], rule)
        assert judged.verdict is verdict


PRODUCT = """
func.func @main(%a: tensor<2xMx3xf32>, %b: tensor<2x3x4xf32>) -> tensor<2xMx4xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2xMx3xf32>, tensor<2x3x4xf32>) -> tensor<2xMx4xf32>
  return %0 : tensor<2xMx4xf32>
}"""


def wrong_element(text: str, inputs: list[Any], index: tuple[int, ...]) -> Element:
    """Return the element that a judgement records where one element of a result is wrong."""
    program = parse_module(text)
    expected = evaluate(program, inputs)
    actual = expected[0].copy()
    actual[index] += 7
    (element,) = judge_operation(program, inputs, expected, [actual]).elements
    assert element.index == index
    return element


def test_row_and_column_of_wrong_product_are_recorded() -> None:
    inputs = [
        array(np.arange(12).reshape(2, 2, 3), "f32"),
        array(np.arange(24).reshape(2, 3, 4), "f32"),
    ]
    element = wrong_element(PRODUCT.replace("M", "2"), inputs, (1, 0, 2))
    assert [one[:2] for one in element.inputs] == [
        ("lhs", "6.0, 7.0, 8.0"), ("rhs", "14.0, 18.0, 22.0"),
    ]  # fmt: skip
    assert element.inputs[0][2] == "0x40C00000, 0x40E00000, 0x41000000"


REDUCED = parse_module(
    """
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.OP %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}""".replace("OP", "add")
)


def test_folding_collective_is_a_reduction_of_the_contributions_of_its_group() -> None:
    inputs = (np.full((), 3, np.float32), np.full((), 4, np.float32))
    expected = evaluate(REDUCED, inputs)
    found = list(process_results(REDUCED, inputs, expected, [np.full((), 8, np.float32)] * 2))
    assert len(found) == 2
    for one in found:
        assert not one.is_data
        assert one.program.subject.name == "reduce"
        assert one.inputs[0].tolist() == [3.0, 4.0]
        assert evaluate(one.program, one.inputs)[0] == one.expected[0] == 7
        assert one.actual[0] == 8


NAN = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
RIGHT = np.float32([-1, -2, -3])


def digest_of(op: str, *results: Array, rule=DATA) -> bytes:
    """Return the digest of one result for each input set; 1, 2, 3 are the inputs."""
    program = op_program(op, [tensor_of(3)], tensor_of(3))
    inputs = (np.float32([1, 2, 3]),)
    expected = (RIGHT,) if op == "negate" else (np.exp(inputs[0]),)
    sets = [[inputs] * len(results), [expected] * len(results), [[result] for result in results]]
    return judge_sets(program, *sets, rule).whole.digest


def replaced(position: int, value: object) -> Array:
    changed = RIGHT.copy()
    changed[position] = value
    return changed


def test_digest_depends_on_bits_positions_and_input_sets() -> None:
    different = [
        digest_of("negate", *results)
        for results in (
            (replaced(0, 7), RIGHT), (replaced(0, 8), RIGHT), (replaced(1, 7), RIGHT),
            (RIGHT, replaced(0, 7)), (replaced(0, 7), replaced(0, 7)), (replaced(0, NAN[0]), RIGHT),
            (RIGHT.astype(np.float64), RIGHT), (RIGHT[:2], RIGHT),
        )
    ]  # fmt: skip
    assert len({*different, b""}) == len(different) + 1
    assert digest_of("negate", RIGHT, RIGHT) == b""


def test_all_nans_are_alike() -> None:
    first, second = (digest_of("negate", replaced(0, one)) for one in NAN)
    assert first == second
    where = np.arange(2)
    pairs = [np.array([complex(one, 2), complex(3, one)], np.complex64) for one in (*NAN, 7)]
    alike, too, other = (digest_elements(pair, where) for pair in pairs)
    assert alike == too != other


def test_permitted_elements_do_not_change_the_digest() -> None:
    right = np.exp(np.float32([1, 2, 3]))
    wrong, near = right.copy(), right.copy()
    wrong[0] = near[0] = 9
    near[1] = np.nextafter(near[1], np.float32(9))
    rule = EXPONENTIAL
    assert digest_of("exponential", wrong, rule=rule) == digest_of("exponential", near, rule=rule)
