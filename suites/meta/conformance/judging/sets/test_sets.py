"""Sets of values: every permitted evaluation lies inside, and impossible values do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance.judging.perturbation import error_model
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.sets.evaluate import evaluate_sets
from conformance.judging.sets.explain import explain_worst_element
from conformance.judging.sets.value_set import WIDE, ValueSet, union
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inline import inline
from conformance.transforms.retype import retype
from conformance.verdict import Verdict
from generators.chains import strategy
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, apply, evaluate
from reference.ir.op import Rounding
from reference.ir.program import Operation, Program
from reference.ir.types import ELEMENT_TYPES, Array, ElementType, element_type_of
from reference.numerics.rounding import round_to, to_float64
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program
from suites.meta.support.small_programs import array

_F32, _F64 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]
SUMS = (np.add, np.subtract)


class LegalExecution:
    """The `on_result` hook of `evaluate` that leaves out roundings of main at random.

    An f32 product is exact in a sum that takes it. A value of a narrow type stays an f32 value
    for the operations that take it, but for explicit roundings, and within its type's range.
    """

    def __init__(self, program: Program, inputs: tuple[Array, ...], seed: int) -> None:
        names = (argument.name for argument in program.main.arguments)
        self._values: dict[str, Any] = dict(zip(names, inputs, strict=True))
        self._unrounded: dict[str, Array] = {}
        self._main = frozenset(map(id, program.main.body.operations))
        self._random = np.random.default_rng(seed)

    def __call__(self, operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the results of this execution in place of the reference's."""
        if id(operation) in self._main and len(results) == 1:
            results = (self._result(operation, results[0]),)
        names = (result.name for result in operation.results)
        self._values.update(zip(names, results, strict=True))
        return results

    def _result(self, operation: Operation, result: Any) -> Any:
        record = OPS.get(operation.name)
        if record is None or not operation.operands or operation.regions:
            return result
        if not isinstance(result, np.ndarray):
            return result
        element_type, name = element_type_of(result), operation.results[0].name
        if (
            not element_type.is_float
            or not element_type.float_format.signed
            or record.only_rounds
            or element_type is _F64
        ):
            return result
        if record.moves_elements or record.is_sign_only:
            if any(operand.name in self._unrounded for operand in operation.operands):
                self._unrounded[name] = self._applied(operation, {element_type: _F64}, every=True)
            return result
        if not record.lifts or record.rounding is Rounding.EXACT:
            return result
        if element_type is not _F32:
            kept = to_float64(self._applied(operation, {element_type: _F32}))
            rounded = round_to(kept, element_type)
            if record.rounding is not Rounding.MOVES:
                stored = to_float64(rounded)
                is_in_range = (np.abs(kept) <= element_type.float_format.max_finite) & (stored != 0)
                self._unrounded[name] = np.where(is_in_range, kept, stored)
            return rounded
        if record.unrounded is np.multiply:
            self._unrounded[name] = self._applied(operation, {element_type: _F64})
        if record.unrounded in SUMS:
            return round_to(self._applied(operation, {element_type: _F64}), element_type)
        return result

    def _applied(
        self, operation: Operation, types: Mapping[ElementType, ElementType], *, every: bool = False
    ) -> Array:
        """Return the result on wider types, of operands unrounded at random, or of `every` one."""
        (wide,) = types.values()
        operands: list[Array] = []
        for value in operation.operands:
            given = self._values[value.name]
            if value.name in self._unrounded and (every or self._random.integers(2)):
                given = self._unrounded[value.name]
            element_type = element_type_of(given)
            operands.append(round_to(to_float64(given), wide) if element_type.is_float else given)
        (result,) = apply(retype(operation, types), operands)
        return result


PROGRAMS = 150


@pytest.mark.slow
def test_every_permitted_evaluation_lies_in_the_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples move within the rules of operations; nothing else is left out or done otherwise."""
    followed = 0
    for number in range(PROGRAMS):
        case = strategy.program_at(50, number, frozenset(), None)
        program = lower_program(case.program)
        inputs = materialise(program, case.inputs[0])
        whole = inline(program).program
        try:
            permitted = PermittedResults(whole, inputs)
        except EvaluationError:
            continue
        sets = permitted.sets
        if sets is None:
            continue
        followed += 1
        legal = [
            evaluate(whole, inputs, on_result=LegalExecution(whole, tuple(inputs), seed))
            for seed in range(3)
        ]
        with monkeypatch.context() as patch:
            patch.setattr(error_model, "EXCESS", 0.0)
            samples = permitted.moved_samples()
        for results in (permitted.expected, *samples, *legal):
            held = [one.holds(result).all() for one, result in zip(sets, results, strict=True)]
            assert all(held), (number, held)
    assert followed > PROGRAMS / 2


def program(operations: str, arguments: str, result: str) -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{operations}\n}}"


F32, I32, FLAG = "tensor<1xf32>", "tensor<1xi32>", "tensor<1xi1>"
PRODUCT = f"%p = stablehlo.multiply %a, %b : {F32}"

CHOICE = program(
    f"""{PRODUCT}
    %q = stablehlo.compare GT, %p, %c : ({F32}, {F32}) -> {FLAG}
    %zero = stablehlo.constant dense<0.0> : {F32}
    %hundred = stablehlo.constant dense<100.0> : {F32}
    %r = stablehlo.select %q, %zero, %hundred : {FLAG}, {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)

INDEX = program(
    f"""{PRODUCT}
    %f = stablehlo.floor %p : {F32}
    %i = stablehlo.convert %f : ({F32}) -> {I32}
    %s = stablehlo.reshape %i : ({I32}) -> tensor<i32>
    %r = stablehlo.dynamic_slice %c, %s, sizes = [1] : (tensor<4xf32>, tensor<i32>) -> {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: tensor<4xf32>",
    F32,
)

RANGE = program(
    f"""{PRODUCT}
    %t = stablehlo.tanh %p : {F32}
    return %t : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)

WHOLE = program(
    f"""{PRODUCT}
    %f = stablehlo.floor %p : {F32}
    return %f : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)

OPEN = program(
    f"""%n = stablehlo.constant dense<32> : {I32}
    %s = stablehlo.shift_left %a, %n : {I32}
    %one = stablehlo.constant dense<1> : {I32}
    %r = stablehlo.and %s, %one : {I32}
    return %r : {I32}""",
    f"%a: {I32}",
    I32,
)

BRANCH = program(
    f"""{PRODUCT}
    %d = stablehlo.subtract %p, %c : {F32}
    %q = stablehlo.compare GE, %d, %d : ({F32}, {F32}) -> {FLAG}
    %w = stablehlo.compare GT, %p, %c : ({F32}, {F32}) -> {FLAG}
    %k = stablehlo.reshape %w : ({FLAG}) -> tensor<i1>
    %r = "stablehlo.if"(%k) ({{
      %x = stablehlo.constant dense<7.0> : {F32}
      stablehlo.return %x : {F32}
    }}, {{
      %y = stablehlo.constant dense<-9.0> : {F32}
      stablehlo.return %y : {F32}
    }}) : (tensor<i1>) -> {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)

NEAREST = program(
    f"""%c = stablehlo.constant dense<12582912.0> : {F32}
    %s = stablehlo.add %a, %c : {F32}
    %r = stablehlo.subtract %s, %c : {F32}
    return %r : {F32}""",
    f"%a: {F32}",
    F32,
)

ERROR_OF_SUM = program(
    f"""%s = stablehlo.add %a, %b : {F32}
    %t = stablehlo.subtract %s, %a : {F32}
    %r = stablehlo.subtract %b, %t : {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}",
    F32,
)

ERROR_OF_PRODUCT = program(
    f"""{PRODUCT}
    %r = stablehlo.subtract %p, %c : {F32}
    return %r : {F32}""",
    f"%a: {F32}, %b: {F32}, %c: {F32}",
    F32,
)

BF16 = "tensor<1xbf16>"

ROUNDED_SQUARE = program(
    f"""%p = stablehlo.multiply %a, %a : {BF16}
    %m = stablehlo.negate %p : {BF16}
    %r = stablehlo.convert %m : ({BF16}) -> {F32}
    return %r : {F32}""",
    f"%a: {BF16}",
    F32,
)

TENTHS = [np.array([one], np.float32) for one in (1.1, 1.3, np.float32(1.1) * np.float32(1.3))]
THIRD = [np.array([1 / 3], np.float32), np.array([3], np.float32)]
TABLE = np.array([10, 1000, -5, 7], np.float32)
LARGE = [np.array([10.0], np.float32)] * 2
ONE, TINY = (np.array([one], np.float32) for one in (1.0, 2.0**-30))
CONTRACTED = np.float32(float(TENTHS[0][0]) * float(TENTHS[1][0]) - float(TENTHS[2][0]))
SHORT = np.array([1.015625], ml_dtypes.bfloat16)
THREE = [np.array([3], np.int32)]


@pytest.mark.parametrize(
    ("text", "inputs", "possible", "impossible"),
    [
        (CHOICE, TENTHS, [0.0, 100.0], [57.0, -1.0]),
        (INDEX, [*THIRD, TABLE], [10.0, 1000.0], [500.0, -5.0]),
        (RANGE, LARGE, [1.0, 1 - 2.0**-24], [1 + 2.0**-23]),
        (WHOLE, THIRD, [1.0, 0.0], [0.5, 2.0]),
        (OPEN, THREE, [0, 1], [7, -1]),
        (BRANCH, TENTHS, [7.0, -9.0], [0.0]),
        (NEAREST, TENTHS[:1], [1.0], [1.1, 0.0, 2.0]),
        (ERROR_OF_SUM, [ONE, TINY], [2.0**-30], [0.0, 2.0**-31]),
        (ERROR_OF_PRODUCT, TENTHS, [0.0, CONTRACTED], [1e-6, 2.0**-22]),
        (ROUNDED_SQUARE, [SHORT], [-1.03125], [-1.03149]),
    ],
)
def test_values_between_the_outcomes_are_wrong(
    text: str, inputs: Sequence[Array], possible: Sequence[float], impossible: Sequence[float]
) -> None:
    def fails(value: float) -> bool:
        permitted = PermittedResults(parse_module(text), inputs)
        got = np.array([value]).astype(permitted.expected[0].dtype)
        return judge_program(permitted, [got]).verdict.fails

    assert not any(map(fails, possible))
    assert all(map(fails, impossible))


@pytest.mark.parametrize(("op", "has_sets"), [("negate", True), ("tan", False)])
def test_a_program_of_unknown_sizes_has_no_sets_if_anything_may_result(
    op: str, has_sets: bool
) -> None:
    text = f"""func.func @main(%n: tensor<1xi64>) -> tensor<?xf32> {{
      %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>
      %1 = stablehlo.exponential %0 : tensor<?xf32>
      %2 = stablehlo.{op} %1 : tensor<?xf32>
      return %2 : tensor<?xf32>
    }}"""
    inputs = [np.array([2], np.int64)]
    permitted = PermittedResults(parse_module(text), inputs)
    assert (permitted.sets is not None) is has_sets
    if permitted.sets is not None:
        assert permitted.sets[0].holds(permitted.expected[0]).all()
    assert judge_program(permitted, permitted.expected).verdict is Verdict.PASS


LOOP = """func.func @main(%x: tensor<f32>, %limit: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.while(%a = %x) : tensor<f32>
  cond {
    %c = stablehlo.compare LT, %a, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.exponential %a : tensor<f32>
    stablehlo.return %b : tensor<f32>
  }
  return %0 : tensor<f32>
}"""


@pytest.mark.parametrize(("limit", "may_go_on"), [(2.0, False), (np.e, True)])
def test_a_loop_may_end_wherever_rounding_decides_its_condition(
    limit: float, may_go_on: bool
) -> None:
    inputs = [np.array(one, np.float32) for one in (1.0, limit)]
    sets = evaluate_sets(parse_module(LOOP), inputs, "cpu")
    assert sets is not None
    assert sets[0].holds(np.array(np.e, np.float32))
    assert bool(sets[0].holds(np.array(np.exp(np.e), np.float32))) is may_go_on
    for number in (1.0, 7.0, 20.0):
        assert not sets[0].holds(np.array(number, np.float32))


def test_a_loop_that_rounding_may_never_end_carries_anything() -> None:
    text = LOOP.replace("exponential %a", "tanh %x").replace("compare LT", "compare GE")
    inputs = [np.array(one, np.float32) for one in (0.5, np.tanh(0.5))]
    sets = evaluate_sets(parse_module(text), inputs, "cpu")
    assert sets is not None
    assert sets[0].holds(np.array(1e30, np.float32))


NUMBERS = np.array([1.0, 5.0, 9.0, 11.0], np.float32)
FLOAT, INTEGER = np.float32, np.int32
EMPTY = ValueSet.of(np.zeros(0, FLOAT))


def fails(text: str, inputs: Sequence[Array], result: Sequence[float]) -> bool:
    """Return whether a result of a program fails."""
    permitted = PermittedResults(parse_module(text), inputs)
    (expected,) = permitted.expected
    got = np.array(result).astype(expected.dtype).reshape(expected.shape)
    return judge_program(permitted, [got]).verdict.fails


def updates(count: int, body: str) -> str:
    """Return a program that scatters so many updates to one element, and adds ten."""
    return f"""func.func @main(%x: tensor<2xi32>, %u: tensor<{count}xi32>) -> tensor<2xi32> {{
      %i = stablehlo.constant dense<0> : tensor<{count}x1xi32>
      %0 = "stablehlo.scatter"(%x, %i, %u) ({{
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        {body}
      }}) {{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<2xi32>, tensor<{count}x1xi32>, tensor<{count}xi32>) -> tensor<2xi32>
      %t = stablehlo.constant dense<10> : tensor<2xi32>
      %1 = stablehlo.add %0, %t : tensor<2xi32>
      return %1 : tensor<2xi32>
    }}"""


LAST = "stablehlo.return %b : tensor<i32>"
DIFFERENCE = "%c = stablehlo.subtract %b, %a : tensor<i32>\n stablehlo.return %c : tensor<i32>"


@pytest.mark.parametrize(
    ("body", "possible", "impossible"),
    [
        (LAST, [20, 30, 50], [10, 25, 40, 100]),
        (DIFFERENCE, [10 + 40 - (20 - (10 - 7)), 10 + 10 - (40 - (20 - 7))], [10, 80]),
    ],
)
def test_any_order_of_updates_and_nothing_else(
    body: str, possible: Sequence[int], impossible: Sequence[int]
) -> None:
    given = [np.array([7, 3], INTEGER), np.array([10, 20, 40], INTEGER)]
    for value in possible:
        assert not fails(updates(3, body), given, [value, 13]), value
    for value in impossible:
        assert fails(updates(3, body), given, [value, 13]), value
    assert fails(updates(3, body), given, [possible[0], 14])


SHUFFLE = """func.func @main(%p: tensor<6xi32>) -> tensor<6xi32> {
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<6> : tensor<1xi64>
  %k = stablehlo.rng %a, %b, %n, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<6xf32>
  %0:2 = "stablehlo.sort"(%k, %p) ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>, %e: tensor<i32>, %f: tensor<i32>):
    %g = stablehlo.compare LT, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %g : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  return %0#1 : tensor<6xi32>
}"""


def test_a_sort_by_unspecified_keys_is_a_permutation() -> None:
    given = [np.array([3, 3, 4, 5, 6, 7], INTEGER)]
    assert not fails(SHUFFLE, given, [7, 3, 5, 3, 6, 4])
    assert fails(SHUFFLE, given, [7, 3, 5, 5, 6, 4])
    assert fails(SHUFFLE, given, [7, 3, 5, 3, 6, 8])


def test_equal_keys_of_an_unstable_sort_leave_a_permutation() -> None:
    text = """func.func @main(%k: tensor<4xi32>, %p: tensor<4xf32>) -> tensor<4xf32> {
      %0:2 = "stablehlo.sort"(%k, %p) ({
      ^bb0(%c: tensor<i32>, %d: tensor<i32>, %e: tensor<f32>, %f: tensor<f32>):
        %g = stablehlo.compare LT, %c, %d : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %g : tensor<i1>
      }) {dimension = 0 : i64, is_stable = false}
        : (tensor<4xi32>, tensor<4xf32>) -> (tensor<4xi32>, tensor<4xf32>)
      return %0#1 : tensor<4xf32>
    }"""
    given = [np.zeros(4, INTEGER), np.array([1.0, np.nan, 2.0, 3.0], FLOAT)]
    (found,) = evaluate_sets(parse_module(text), given, "cpu") or [EMPTY]
    assert found.permuted is not None
    for right in ([3.0, 1.0, np.nan, 2.0], [1.0, np.nan, 2.0, 3.0]):
        assert found.holds(np.array(right, FLOAT)).all()
        assert not found.permuted.lost(np.array(right, FLOAT)).any()
    assert not found.holds(np.array([4.0, 1.0, np.nan, 2.0], FLOAT)).all()
    for wrong in ([3.0, 1.0, 1.0, 2.0], [3.0, np.nan, np.nan, 2.0]):
        assert found.permuted.lost(np.array(wrong, FLOAT)).all()


def draws(count: int, operations: str, result: str) -> str:
    """Return a program of operations on `count` times a uniform number, %y."""
    return f"""func.func @main(%t: tensor<4xf32>) -> {result} {{
      %a = stablehlo.constant dense<0.0> : tensor<f32>
      %b = stablehlo.constant dense<1.0> : tensor<f32>
      %n = stablehlo.constant dense<1> : tensor<1xi64>
      %c = stablehlo.constant dense<{count}.0> : tensor<1xf32>
      %u = stablehlo.rng %a, %b, %n, distribution = UNIFORM
        : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1xf32>
      %y = stablehlo.multiply %u, %c : tensor<1xf32>
      {operations}
    }}"""


FLOOR = """%0 = stablehlo.floor %y : tensor<1xf32>
  return %0 : tensor<1xf32>"""

PICK = """%0 = stablehlo.convert %y : (tensor<1xf32>) -> tensor<1xi32>
  %1 = "stablehlo.gather"(%t, %0) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}
    : (tensor<4xf32>, tensor<1xi32>) -> tensor<1xf32>
  %2 = stablehlo.negate %1 : tensor<1xf32>
  return %2 : tensor<1xf32>"""


@pytest.mark.parametrize(
    ("count", "operations", "possible", "impossible"),
    [
        (10, FLOOR, [0, 4, 9], [2.5, 11, -1]),
        (3, PICK, [-1, -5, -9, -11], [-3, -10, 1]),
    ],
)
def test_random_numbers_lead_to_few_values(
    count: int, operations: str, possible: Sequence[float], impossible: Sequence[float]
) -> None:
    text = draws(count, operations, "tensor<1xf32>")
    assert not any(fails(text, [NUMBERS], [value]) for value in possible)
    assert all(fails(text, [NUMBERS], [value]) for value in impossible)


BITS = """func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi32> {
  %0 = stablehlo.divide %x, %y : tensor<3xf32>
  %1 = stablehlo.bitcast_convert %0 : (tensor<3xf32>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}"""


def test_bits_of_nan_are_those_of_some_nan() -> None:
    given = [np.array([0.0, 1.0, -1.0], FLOAT), np.array([0.0, 1.0, 4.0], FLOAT)]
    one, quarter = 0x3F800000, -0x41800000
    for nan in (0x7FC00000, 0x7F800001, 0x7FFFFFFF, -1, -0x400000, -0x7FFFFF):
        assert not fails(BITS, given, [nan, one, quarter]), nan
    for number in (0, 1, 0x7F800000, -0x800000, one):
        assert fails(BITS, given, [number, one, quarter]), number
    assert fails(BITS, given, [-1, one + 5, quarter])
    assert fails(BITS, given, [-1, one, -quarter])


def test_a_product_that_overflows_may_be_contracted() -> None:
    text = """func.func @main(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.multiply %x, %x : tensor<f32>
      %1 = stablehlo.add %0, %y : tensor<f32>
      return %1 : tensor<f32>
    }"""
    given = [np.array(1e30, FLOAT), np.array(-np.inf, FLOAT)]
    (found,) = evaluate_sets(parse_module(text), given, "cpu") or [EMPTY]
    assert found.holds(np.array(-np.inf, FLOAT))
    assert found.holds(np.array(np.nan, FLOAT))


def test_a_set_holds_the_ends_of_its_intervals_and_what_lies_between() -> None:
    low, high = array([0.0, 5.0, -1.0]), array([1.0, 6.0, -1.0])
    found = ValueSet(((low, high),), np.array([False, False, True]))
    assert found.holds(array([0.5, 6.0, np.nan])).all()
    assert not found.holds(array([-0.5, np.nan, -2.0])).any()
    assert not found.is_point
    assert ValueSet.of(low).is_point


def test_the_nearest_intervals_are_joined() -> None:
    points = [array([float(one)]) for one in (0, 100, 1, *range(200, 100 * WIDE, 100))]
    found = union([(point, point) for point in points], np.array([False]))
    assert len(found.intervals) == WIDE
    assert all(found.holds(point).all() for point in points)
    assert found.holds(array([0.5])).all()
    assert not found.holds(array([50.0])).any()


PAIR = "tensor<2xf32>"
EXACT_DIFFERENCE = f"""func.func @main(%a: {PAIR}, %b: {PAIR}, %c: {PAIR}) -> {PAIR} {{
  %p = stablehlo.multiply %a, %b : {PAIR}
  %r = stablehlo.subtract %p, %c : {PAIR}
  return %r : {PAIR}
}}"""

LEFT, RIGHT = np.float32(1.1), np.float32(1.3)
ERROR = np.float32(float(LEFT) * float(RIGHT) - float(LEFT * RIGHT))


def explain(numbers: Sequence[float]) -> str:
    inputs = [np.full(2, one, np.float32) for one in (LEFT, RIGHT, LEFT * RIGHT)]
    permitted = PermittedResults(parse_module(EXACT_DIFFERENCE), inputs)
    return explain_worst_element(permitted, [np.array(numbers, np.float32)])


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([0.0, ERROR], ["result 0 at [1]", "only where a compiler contracts"]),
        ([1.0, 0.0], ["result 0 at [0], 1.0", "evaluations that move its intermediate results"]),
        ([0.0, 0.0], []),
    ],
)
def test_the_worst_element_is_explained(numbers: Sequence[float], told: Sequence[str]) -> None:
    text = explain(numbers)
    assert bool(text) is bool(told)
    assert all(one in text for one in told)
