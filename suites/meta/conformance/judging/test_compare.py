"""The judge: each kind of wrong result gets its verdict and class, a right result never fails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from conformance.catalog import CATALOG, rule_of
from conformance.judging.compare import judge, judge_operation
from conformance.judging.judgement import combine
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.entry_prediction import EntryPrediction
from conformance.known.in_force import in_force
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.result_accuracy import apply_result_accuracy
from conformance.verdict import Failing, Verdict
from generators.cells.plan import cases
from generators.values.contents import materialise
from reference.interpreter.evaluate import evaluate
from reference.ir.program import (
    Dense,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import ELEMENT_TYPES, Array, element_type, from_bits, to_bits
from reference.ops.xla.lowering import lower_program
from suites.meta.support.permitted import permitted_result
from suites.meta.support.small_programs import array, op_program, tensor_of


def tensor(name: str, values: Any) -> Array:
    return np.asarray(values).astype(element_type(name).storage)


def program_of(op: str, operands: tuple[Array, ...], result: str, **attributes: Any) -> Program:
    from reference.ir.types import element_type_of

    types = [TensorType(a.shape, element_type_of(a)) for a in operands]
    values = tuple(Value(f"a{i}", of) for i, of in enumerate(types))
    shape = max((a.shape for a in operands), key=len)
    return single_op(op, values, (TensorType(shape, element_type(result)),), attributes)


@dataclass(frozen=True)
class Wrong:
    """A wrong result: inputs, actual result, and the required judgement."""

    op: str
    types: tuple[str, ...]
    operands: tuple[Any, ...]
    actual: Any
    verdict: Verdict
    kind: str
    result: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    platform: str = "cpu"

    def __str__(self) -> str:
        return f"{self.op}-{self.types[0]}-{self.kind or self.verdict}".replace(" ", "_")


D, I, F, U, P = (  # noqa: E741 - short in a table of thirty rows
    Verdict.DIVERGENT,
    Verdict.INACCURATE,
    Verdict.FLUSHED,
    Verdict.UNSPECIFIED,
    Verdict.PASS,
)

EXP1, EPS = np.float32(np.e), 2.0**-23
INF, NAN = float("inf"), float("nan")

WRONG = [
    Wrong("negate", ("f32",), ([0.0, 1.0],), [0.0, -1.0], D, "signed zero"),
    Wrong("add", ("f32", "f32"), ([-0.0], [-0.0]), [0.0], D, "signed zero"),
    Wrong("ceil", ("f32",), ([-0.5, 1.0, 2.0],), [0.0, 1.0, 2.0], D, "signed zero"),
    Wrong("ceil", ("f32",), ([-0.5, 1.0, 3.0],), [0.0, 1.0, 3.0], D, "signed zero"),
    Wrong("ceil", ("f32",), ([-0.5],), [0.0], D, "signed zero"),
    Wrong("add", ("f32", "f32"), ([1.0], [2.0]), [3.0 + 3 * 2 * EPS], I, "accuracy"),
    Wrong("add", ("f32", "f32"), ([1.0], [2.0]), [-3.0], D, "sign"),
    Wrong("add", ("f32", "f32"), ([1.0], [2.0]), [4.5], D, "wrong value"),
    Wrong("add", ("f32", "f32"), ([NAN], [2.0]), [2.0], D, "NaN"),
    Wrong("add", ("f32", "f32"), ([1.0], [2.0]), [NAN], D, "NaN"),
    Wrong("add", ("f32", "f32"), ([3e38], [3e38]), [3.4028235e38], D, "infinity"),
    Wrong("add", ("f32", "f32"), ([1e-40], [1e-40]), [0.0], F, "flushed"),
    Wrong(
        "subtract", ("complex<f64>", "complex<f64>"), ([1e300 + 4e-308j], [3e-308j]), [1e300],
        F, "flushed",
    ),
    Wrong(
        "add", ("complex<f32>", "complex<f32>"),
        ([complex(INF, -1.1754945e-38)], [complex(NAN, 1.1754944e-38)]), [complex(NAN, -0.0)],
        F, "flushed",
    ),
    Wrong("add", ("f32", "f32"), ([1e-40], [1e-40]), [-0.0], D, "wrong value"),
    Wrong(  # a part that is flushed beside one that is kept
        "clamp", ("complex<f32>",) * 3, ([-1 + 0j], [complex(2e-40, -8e-41)], [complex(1e-42, 2)]),
        [complex(0.0, -8e-41)], D, "wrong value",
    ),
    Wrong("multiply", ("f32", "f32"), ([1e-40], [1e30]), [0.0], F, "flushed"),
    Wrong("multiply", ("f32", "f32"), ([1e-40], [1e30]), [-0.0], D, "wrong value"),
    Wrong("sign", ("f32",), ([-1e-40],), [-0.0], F, "flushed"),
    Wrong("sign", ("f32",), ([-1e-40],), [0.0], D, "wrong value"),
    Wrong("exponential_minus_one", ("f32",), ([-1e-40],), [-0.0], F, "flushed"),
    Wrong("exponential_minus_one", ("f32",), ([-1e-40],), [0.0], D, "wrong value"),
    Wrong(  # a quotient of complex numbers, so the zero has either sign
        "sign", ("complex<f32>",), ([complex(-6.143916e-38, -6.083181e-39)],),
        [complex(-1.0, -0.0)], F, "flushed",
    ),
    Wrong(
        "add", ("complex<f32>", "complex<f32>"), ([complex(1e-40, 1)], [complex(1e-40, 1)]),
        [complex(0.0, 2)], F, "flushed",
    ),
    Wrong(
        "add", ("complex<f32>", "complex<f32>"), ([complex(1e-40, 1)], [complex(1e-40, 1)]),
        [complex(-0.0, 2)], I, "accuracy",
    ),
    Wrong("log", ("f32",), ([1e-40],), [-INF], F, "flushed"),
    Wrong("is_finite", ("f32",), ([INF],), [True], D, "wrong value", "i1"),
    Wrong(
        "compare", ("f32", "f32"), ([1e-40], [0.0]), [True], F, "flushed", "i1",
        {"comparison_direction": "EQ", "compare_type": "FLOAT"},
    ),
    Wrong("exponential", ("f32",), ([1.0],), [EXP1 + np.float32(2 * EPS)], P, ""),
    Wrong("exponential", ("f32",), ([1.0],), [EXP1 + np.float32(4 * EPS)], I, "accuracy"),
    Wrong(
        "exponential", ("f32",), ([1.0],), [EXP1 + np.float32(4 * EPS)], P, "", platform="gpu"
    ),
    Wrong("exponential", ("f32",), ([1000.0],), [3.4028235e38], D, "infinity"),
    Wrong("exponential", ("f64",), ([709.7827128933841],), [1.7976931348622732e308], D, "infinity"),
    Wrong("divide", ("f32", "f32"), ([1e38], [2e38]), [0.0], D, "reciprocal"),
    Wrong("divide", ("f32", "f32"), ([-INF], [2e38]), [NAN], D, "reciprocal"),
    Wrong("divide", ("f32", "f32"), ([INF], [2.0]), [NAN], D, "NaN"),
    Wrong("divide", ("f32", "f32"), ([5.0], [3.0]), [1.6666668], I, "reciprocal"),
    Wrong("atan2", ("f32", "f32"), ([1e-40], [1e-40]), [NAN], D, "NaN"),
    Wrong("atan2", ("f32", "f32"), ([1e-30], [1e-30]), [NAN], D, "NaN"),
    Wrong("atan2", ("f32", "f32"), ([1e-40], [1e-40]), [3.0], D, "wrong value"),
    Wrong("atan2", ("f32", "f32"), ([1e-40], [-1.0]), [NAN], D, "NaN"),
    Wrong("atan2", ("f64", "f64"), ([1e-320], [-1.0]), [-np.pi], D, "sign"),
    Wrong("atan2", ("f32", "f32"), ([1e-40], [-1.0]), [-np.pi], D, "sign"),
    Wrong("log", ("f32",), ([1e-40],), [-103.97208], D, "wrong value"),
    Wrong("log", ("f32",), ([1e-40],), [-103.972], D, "wrong value"),
    Wrong("log", ("f64",), ([1e-320],), [-103.97208], D, "wrong value"),
    Wrong("log_plus_one", ("f32",), ([1e-40],), [-103.97208], D, "wrong value"),
    Wrong("cbrt", ("f32",), ([1e-40],), [-5.5951735e-16], D, "wrong value"),
    Wrong("cbrt", ("f32",), ([1e-40],), [5.5951735e-16], D, "wrong value"),
    Wrong("log", ("f32",), ([1e-30],), [-50.0], D, "wrong value"),
    Wrong("power", ("f64", "f64"), ([1e-320], [0.5]), [2.0**-537.5], D, "wrong value"),
    Wrong("power", ("f32", "f32"), ([1e-40], [-0.1]), [32768.0], D, "wrong value"),
    Wrong(
        "power", ("f8E8M0FNU", "f8E8M0FNU"), ([2.0**-127], [0.5]), [2.0**-75], D, "wrong value"
    ),
    Wrong("power", ("f32", "f32"), ([-1e-40], [-0.5]), [2.0**75], D, "NaN"),
    Wrong("power", ("f64", "f64"), ([1e-320], [0.5]), [3.0], D, "wrong value"),
    Wrong("power", ("f64", "f64"), ([1e-300], [0.5]), [3.0], D, "wrong value"),
    Wrong("power", ("si32", "si32"), ([0, 3], [64, 2]), [1, 9], D, "wrong value"),
    Wrong("power", ("si32", "si32"), ([0, 3], [64, 2]), [2, 9], D, "wrong value"),
    Wrong("tanh", ("f32",), ([20.0],), [1.0 + EPS], I, "out of range"),
    Wrong("logistic", ("f32",), ([-95.0],), [0.0], P, ""),
    Wrong("logistic", ("f32",), ([-80.0],), [0.0], D, "wrong value"),
    Wrong("subtract", ("si32", "si32"), ([5], [3]), [-2], D, "operands swapped"),
    Wrong("subtract", ("f32", "f32"), ([5.0], [3.0]), [-2.0], D, "operands swapped"),
    Wrong("add", ("si8", "si8"), ([100], [100]), [127], D, "saturation"),
    Wrong("multiply", ("si64", "si64"), ([1 << 20], [1 << 20]), [0], D, "truncated to 32 bits"),
    Wrong("divide", ("si32", "si32"), ([1, 7], [0, 2]), [77, 3], U, "integer division by zero"),
    Wrong("divide", ("si32", "si32"), ([1, 7], [0, 2]), [77, 4], D, "wrong value"),
    Wrong("convert", ("f32",), ([1.00390625],), [1.0078125], I, "tie rounding", "bf16"),
    Wrong(
        "convert", ("f64",), ([1.00390625 + 2.0**-40],), [1.0], I, "double rounding", "bf16"
    ),
    Wrong("round_nearest_even", ("f32",), ([2.5],), [3.0], D, "tie rounding"),
    Wrong(
        "add", ("complex<f32>", "complex<f32>"), ([complex(NAN, 1)], [2.0]), [complex(NAN, 3)],
        D, "wrong value",
    ),
    Wrong("maximum", ("f32", "f32"), ([0.0], [-0.0]), [-0.0], D, "signed zero"),
    Wrong("maximum", ("f32", "f32"), ([1.0], [NAN]), [1.0], D, "NaN"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_results_get_their_verdict_and_class(case: Wrong) -> None:
    operands = tuple(
        tensor(name, values) for name, values in zip(case.types, case.operands, strict=True)
    )
    result = case.result or case.types[0]
    program = program_of(case.op, operands, result, **case.attributes)
    expected = evaluate(program, operands)
    actual = tensor(result, case.actual)
    rule = rule_of(program.subject)
    assert rule is not None
    judged = judge(program, operands, expected, [actual], rule, platform=case.platform)
    assert (judged.verdict, judged.kind) == (case.verdict, case.kind), judged.message
    if case.verdict is not P:
        assert judged.elements[0].actual in judged.message


@pytest.mark.slow
@pytest.mark.parametrize("op", list(CATALOG))
def test_permitted_result_never_fails(op: str) -> None:
    """The reference's own results have no error at all."""
    rule = CATALOG[op].tolerance
    for of in CATALOG[op].element_types:
        for case in cases(op, of, 7, 3):
            inputs = materialise(case.program, case.inputs[0])
            expected = evaluate(case.program, inputs)
            judged = judge(case.program, inputs, expected, list(expected), rule)
            assert (judged.verdict, judged.worst_ulp or 0.0) == (P, 0.0)
            stated = apply_result_accuracy(lower_program(case.program).subject, rule)
            others = [permitted_result(result, stated) for result in expected]
            judged = judge(case.program, inputs, expected, others, rule)
            assert judged.verdict in (P, U), judged.message


WITH_BUDGET = [op for op, row in CATALOG.items() if row.tolerance.ulps and row.tolerance.ulps.f32]


@pytest.mark.parametrize("op", WITH_BUDGET)
def test_permitted_samples_differ_from_reference(op: str) -> None:
    rule = CATALOG[op].tolerance
    of = element_type("f32")
    for case in cases(op, of, 7, 20):
        expected = evaluate(case.program, materialise(case.program, case.inputs[0]))
        if any(permitted_result(r, rule).tobytes() != r.tobytes() for r in expected):
            return
    pytest.fail("nothing that the test above could have seen")


def test_a_subnormal_part_flushed_in_a_body_is_flushed() -> None:
    """The zero of the other part may have any sign (map-complex_f32 of seed 299792 on 0.12)."""
    of = TensorType((), ELEMENT_TYPES["complex<f32>"])
    names = [Value(name, of) for name in ("x", "y", "z")]
    multiply = Operation("multiply", tuple(names[:2]), (names[2],))
    body = Region(tuple(names[:2]), (multiply, Operation("return", (names[2],))))
    kind = replace(of, shape=(1,))
    program = single_op(
        "map", (Value("a", kind), Value("b", kind)), (kind,), {"dimensions": (0,)}, (body,)
    )
    operands = tensor("complex<f32>", [-1e-23 - 0j]), tensor("complex<f32>", [1.4e-22 + 0j])
    expected = evaluate(program, operands)
    actual = tensor("complex<f32>", [complex(-0.0, 0.0)])
    judged = judge(program, operands, expected, [actual], rule_of(program.subject))
    assert (judged.verdict, judged.kind) == (Verdict.FLUSHED, "flushed"), judged.message


@pytest.mark.parametrize(("of", "verdict"), [("f32", Verdict.INACCURATE), ("complex<f32>", P)])
def test_the_magnitude_of_real_numbers_is_exact(of: str, verdict: Verdict) -> None:
    """The budget of three ulp is for the modulus of complex numbers, whose result is real, too."""
    operands = (tensor(of, [3 + 4j if of != "f32" else -5.0]),)
    program = program_of("abs", operands, "f32")
    actual = np.nextafter(np.float32([5.0]), np.float32(6))
    judged = judge(program, operands, [np.float32([5.0])], [actual], rule_of(program.subject))
    assert judged.verdict is verdict


def test_one_wrong_element_of_a_million_is_found() -> None:
    ones = np.ones(1_000_000, np.float32)
    program = program_of("add", (ones, ones), "f32")
    expected = evaluate(program, (ones, ones))
    actual = expected[0].copy()
    actual[765_432] = 7.0
    judged = judge(program, (ones, ones), expected, [actual], CATALOG["add"].tolerance)
    assert judged.verdict is D
    assert judged.wrong == 1
    assert judged.elements[0].index == (765_432,)
    assert judged.elements[0].inputs[1] == ("rhs", "1.0", "0x3F800000")


@pytest.mark.parametrize(
    ("actual", "kind"),
    [
        ([], "wrong type"),
        ([np.zeros(3, np.float32)], "wrong type"),
        ([np.zeros(2, np.float64)], "wrong type"),
    ],
)
def test_malformed_results_are_divergent(actual: list[Array], kind: str) -> None:
    ones = np.ones(2, np.float32)
    program = program_of("add", (ones, ones), "f32")
    expected = evaluate(program, (ones, ones))
    judged = judge(program, (ones, ones), expected, actual, CATALOG["add"].tolerance)
    assert (judged.verdict, judged.kind) == (D, kind)


@pytest.mark.parametrize(
    ("numbers", "kind"), [([2, 2], "unsigned element type"), ([2, 3], "wrong value")]
)
def test_unsigned_result_is_judged_as_the_stated_type(numbers: list[float], kind: str) -> None:
    ones = np.ones(2, np.float32)
    program = program_of("add", (ones, ones), "f32")
    expected = evaluate(program, (ones, ones))
    actual = [np.array(numbers, np.float32).view(np.uint32)]
    found = judge(program, (ones, ones), expected, actual, CATALOG["add"].tolerance)
    assert (found.verdict, found.kind, found.total) == (D, kind, 2)
    assert judge_program(PermittedResults(program, (ones, ones)), actual).kind == kind


def test_bits_of_nan_count_only_where_the_rule_says_so() -> None:
    quiet, other = (from_bits(np.asarray([b], np.uint32), element_type("f32")) for b in (
        0x7FC00000, 0xFFC12345))  # fmt: skip
    for op, source, verdict in (("negate", quiet, P), ("bitcast_convert", to_bits(quiet), D)):
        program = program_of(op, (source,), "f32")
        expected = evaluate(program, (source,))
        judged = judge(program, (source,), expected, [other], CATALOG[op].tolerance)
        assert judged.verdict is verdict, op


def test_a_subnormal_scalar_converted_to_many_elements_is_judged() -> None:
    """In a bitcast_convert that adds a dimension, operand elements and result elements do not
    correspond.
    """
    tiny = np.asarray(5e-324)
    of = TensorType((8,), element_type("ui8"))
    program = single_op(
        "bitcast_convert", (Value("a", TensorType((), element_type("f64"))),), (of,)
    )
    expected, rule = evaluate(program, (tiny,)), CATALOG["bitcast_convert"].tolerance
    assert expected[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    for actual, verdict in (([2] * 8, D), ([0] * 8, F)):
        judged = judge(program, (tiny,), expected, [np.array(actual, np.uint8)], rule)
        assert judged.verdict is verdict


def test_constant_operands_are_seen_by_the_explanations() -> None:
    of = TensorType((1,), element_type("f32"))
    tiny = Dense.of(np.asarray([1e-40], np.float32), of)
    program = single_op("multiply", (tiny, Value("a", of)), (of,))
    inputs = (np.asarray([1e30], np.float32),)
    expected = evaluate(program, inputs)
    judged = judge(
        program, inputs, expected, [np.zeros(1, np.float32)], CATALOG["multiply"].tolerance
    )
    assert (judged.verdict, judged.kind) == (F, "flushed")


def test_combined_judgement_has_worst_verdict_and_total_counts() -> None:
    ones = np.ones(4, np.float32)
    program = program_of("exponential", (ones,), "f32")
    expected = evaluate(program, (ones,))
    rule = CATALOG["exponential"].tolerance
    good = judge(program, (ones,), expected, list(expected), rule)
    bad = judge(program, (ones,), expected, [expected[0] + np.float32(0.5)], rule)
    both = combine([good, bad, good])
    assert both.verdict is D
    assert both.total == 12
    assert both.wrong == 4
    assert both.errors.histogram[0] == 8


@pytest.mark.parametrize(("got", "kind"), [(2048.0, "double rounding"), (3072.0, "wrong value")])
def test_an_iota_that_is_rounded_twice(got: float, kind: str) -> None:
    """2305 is 2304 in f16, the midpoint of 2048 and 2560 in f8E5M2."""
    program = parse_module("""
    func.func @main() -> tensor<2306xf8E5M2> {
      %0 = stablehlo.iota dim = 0 : tensor<2306xf8E5M2>
      return %0 : tensor<2306xf8E5M2>
    }""")
    (expected,) = evaluate(program, ())
    assert expected[2305] == 2560
    actual = expected.copy()
    actual[2305] = got
    assert judge_operation(program, (), [expected], [actual], "gpu").kind == kind


def test_elements_are_counted_alike_for_an_operation_and_its_program() -> None:
    program = parse_module("""
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.negate %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}""")
    inputs = [np.array([1, 2, 3], np.float32)]
    actual = [np.array([np.nan, 7, np.inf], np.float32)]
    by_rule = judge_operation(program, inputs, evaluate(program, inputs), actual)
    as_program = judge_program(PermittedResults(program, inputs), actual)
    for judgement in (by_rule, as_program):
        assert judgement.wrong == 3
        assert ": 1 of 3 elements is wrong, 1 more as " in judgement.message


TINY = 1e-40


def failing_class(program: Program, inputs: list[Array], *actual: Array) -> Failing:
    """Return the only class predicted_class elements that fail."""
    (found,) = judge_operation(program, inputs, evaluate(program, inputs), actual).failing
    return found


def predicted_class(
    op: str, operands: list[Any], actual: Any, element_type: str = "f32"
) -> tuple[str, int]:
    """Return the class of a failing elementwise op, and the number of predicted elements."""
    given = [array(operand, element_type) for operand in operands]
    type_ = tensor_of(len(given[0]), of=element_type)
    program = op_program(op, [type_] * len(given), type_)
    found = failing_class(program, given, array(actual, element_type))
    return found.kind, found.predicted


@pytest.mark.parametrize(
    ("op", "operands", "actual", "kind", "predicted"),
    [
        ("add", [[TINY, 1.0], [TINY, 1.0]], [0.0, 2.0], "flushed", 1),
        ("multiply", [[TINY] * 2, [1e30] * 2], [0.0, 0.0], "flushed", 2),
        ("subtract", [[5.0, 1.0], [3.0, 9.0]], [-2.0, 8.0], "operands swapped", 2),
        ("divide", [[5.0], [3.0]], [1.6666668], "reciprocal", 1),
        ("add", [[1.0], [2.0]], [3.0 + 6 * EPS], "accuracy", 0),
        ("add", [[1.0, 1.0], [2.0, 3.0]], [4.5, 7.5], "wrong value", 0),
        ("add", [[1.0], [np.nan]], [2.0], "NaN", 0),
        ("negate", [[0.0]], [0.0], "signed zero", 0),
    ],
)
def test_predicting_classes_count_predicted_elements(
    op: str, operands: list[Any], actual: Any, kind: str, predicted: int
) -> None:
    assert predicted_class(op, operands, actual) == (kind, predicted)


def test_a_part_of_a_complex_number_may_be_flushed_beside_one_that_is_near() -> None:
    lhs, rhs = [complex(1.0, TINY)], [complex(2.0, TINY)]
    assert predicted_class("add", [lhs, rhs], [3.0 + 0j], "complex<f32>") == ("flushed", 1)


def test_results_of_an_unsigned_type_are_predicted_where_their_bits_are_right() -> None:
    x = array([1.5, -2.0, 4.0])
    program = op_program("negate", [tensor_of(3)], tensor_of(3))
    (right,) = evaluate(program, [x])
    found = judge_operation(program, [x], [right], [right.view(np.uint32)])
    assert [(one.wrong, one.predicted) for one in found.failing] == [(3, 3)]


def test_predicted_elements_of_input_sets_add_up() -> None:
    program = op_program("add", [tensor_of(2), tensor_of(2)], tensor_of(2))
    tiny, zero = array([TINY, TINY]), array([0.0, 0.0])
    judged = [
        judge_operation(program, [tiny, zero], [tiny], [array([0.0, last])]) for last in (0.0, TINY)
    ]
    (both,) = combine(judged).failing
    assert (both.wrong, both.predicted) == (3, 3)


@pytest.mark.parametrize(("off", "predicted"), [(0, 2), (1, 2), (2, 2), (3, 1), (4, 1)])
def test_entries_may_permit_more_than_counts_as_predicted(off: int, predicted: int) -> None:
    text = "%0 = $op(%operand)\n%1 = stablehlo.add %0, %0 : $T"
    entry = EntryPrediction("mine", ("tanh",), ("f32",), text, within=4.0)
    x = array([0.5, 0.25])
    program = op_program("tanh", [tensor_of(2)], tensor_of(2))
    (right,) = evaluate(program, [x])
    actual = 2 * right
    actual[0] += np.float32(off) * np.spacing(actual[0])
    with in_force([entry]):
        found = failing_class(program, [x], actual)
    assert (found.kind, found.wrong, found.predicted) == ("as computed by mine", 2, predicted)
