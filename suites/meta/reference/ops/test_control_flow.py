"""Branches, loops, tuples, tokens, composites, custom calls: results and refusals."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.backends.fake.reference import ReferenceBackend
from conformance.backends.session import Session
from conformance.judging.compare import judge
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import DATA
from conformance.verdict import Verdict
from generators.cells.plan import cases
from generators.families.control_flow import BUILDERS
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import (
    FutureType,
    Operation,
    Program,
    TensorType,
    TokenType,
    TupleType,
    ValueType,
)
from reference.ir.regions import Body
from reference.ir.types import ALL, ELEMENT_TYPES, Array
from reference.ops.control_flow import same_type
from reference.ops.table import OPS
from suites.meta.support.counting import calls_of
from suites.meta.support.ops.control_flow import run, si32

F32, SI32 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["si32"]
VECTOR = TensorType((3,), F32)


# --- Branches ------------------------------------------------------------------------------------

CASE = """func.func @main(%i: tensor<i32>, %x: tensor<2xi32>) -> (tensor<2xi32>, tensor<i32>) {
  %r:2 = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<10> : tensor<i32>
    stablehlo.return %x, %a : tensor<2xi32>, tensor<i32>
  }, {
    %n = stablehlo.negate %x : tensor<2xi32>
    stablehlo.return %n, %i : tensor<2xi32>, tensor<i32>
  }, {
    %a = stablehlo.constant dense<30> : tensor<i32>
    %s = stablehlo.add %x, %x : tensor<2xi32>
    stablehlo.return %s, %a : tensor<2xi32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<2xi32>, tensor<i32>)
  return %r#0, %r#1 : tensor<2xi32>, tensor<i32>
}"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (0, [[1, -2], 10]), (1, [[-1, 2], 1]), (2, [[2, -4], 30]), (3, [[2, -4], 30]),
        (-1, [[2, -4], 30]), (-(2**31), [[2, -4], 30]), (2**31 - 1, [[2, -4], 30]),
    ],
)  # fmt: skip
def test_an_index_without_a_branch_means_the_last(index: int, expected: list[Any]) -> None:
    assert run(CASE, si32(index), si32([1, -2])) == expected


@pytest.mark.parametrize(("pred", "expected"), [(True, [1, 2]), (False, [2, 1])])
def test_if_gives_the_results_of_one_branch(pred: bool, expected: list[int]) -> None:
    text = """func.func @main(%p: tensor<i1>, %x: tensor<i32>, %y: tensor<i32>)
        -> (tensor<i32>, tensor<i32>) {
      %r:2 = "stablehlo.if"(%p) ({
        stablehlo.return %x, %y : tensor<i32>, tensor<i32>
      }, {
        stablehlo.return %y, %x : tensor<i32>, tensor<i32>
      }) : (tensor<i1>) -> (tensor<i32>, tensor<i32>)
      return %r#0, %r#1 : tensor<i32>, tensor<i32>
    }"""
    assert run(text, np.asarray(pred), si32(1), si32(2)) == expected


def test_unevaluable_operation_in_unused_branch_is_ignored() -> None:
    program = parse_module(CASE)
    function = program.main
    call = function.body.operations[0]
    (unknown, end) = call.regions[1].operations
    region = replace(call.regions[1], operations=(replace(unknown, name="fly"), end))
    call = replace(call, regions=(call.regions[0], region, call.regions[2]))
    body = replace(function.body, operations=(call, *function.body.operations[1:]))
    changed = Program((replace(function, body=body),))
    assert evaluate(changed, [si32(0), si32([1, 2])])[1] == 10
    with pytest.raises(EvaluationError, match=r"the reference does not implement fly .*fly\(%a1\)"):
        evaluate(changed, [si32(1), si32([1, 2])])


def test_branches_nest_deeply() -> None:
    depth = 60
    inside = "%v0 = stablehlo.add %x, %x : tensor<i32>\n"
    for level in range(1, depth):
        last = f"stablehlo.return %v{level - 1} : tensor<i32>\n"
        inside = f'%v{level} = "stablehlo.if"(%p) ({{\n{inside}{last}}}, {{\nstablehlo.return %x : '
        inside += "tensor<i32>\n}) : (tensor<i1>) -> tensor<i32>\n"
    text = f"func.func @main(%p: tensor<i1>, %x: tensor<i32>) -> tensor<i32> {{\n{inside}"
    text += f"return %v{depth - 1} : tensor<i32>\n}}"
    assert run(text, np.asarray(True), si32(21)) == [42]


# --- Loops ---------------------------------------------------------------------------------------

FACTORIAL = """func.func @main(%n: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %one, %f = %one) : tensor<i32>, tensor<i32>
    cond {
      %c = stablehlo.compare LE, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %g = stablehlo.multiply %f, %i : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %g : tensor<i32>, tensor<i32>
    }
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}"""


@pytest.mark.parametrize("n", [-3, 0, 1, 2, 5, 12])
def test_loop_runs_while_its_condition_holds(n: int) -> None:
    assert run(FACTORIAL, si32(n)) == [max(n, 0) + 1, math.factorial(max(n, 0))]


def test_loops_in_loops_and_values_from_outside() -> None:
    """The sum of i * j over all i and j below n, counted by a loop in a loop."""
    text = """func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %s = %zero) : tensor<i32>, tensor<i32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %q:2 = stablehlo.while(%j = %zero, %t = %s) : tensor<i32>, tensor<i32>
            cond {
              %d = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %d : tensor<i1>
            } do {
              %ij = stablehlo.multiply %i, %j : tensor<i32>
              %u = stablehlo.add %t, %ij : tensor<i32>
              %k = stablehlo.add %j, %one : tensor<i32>
              stablehlo.return %k, %u : tensor<i32>, tensor<i32>
            }
          %k = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %k, %q#1 : tensor<i32>, tensor<i32>
        }
      return %r#1 : tensor<i32>
    }"""
    for n in (0, 1, 4, 7):
        assert run(text, si32(n)) == [sum(i * j for i in range(n) for j in range(n))]


def test_hook_receives_and_replaces_results_in_loops_and_branches() -> None:
    seen: Counter[str] = Counter()

    def hook(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        seen[operation.name] += 1
        return tuple(np.asarray(r + si32(operation.name == "multiply"), r.dtype) for r in results)

    program = parse_module(FACTORIAL)
    results = evaluate(program, [si32(3)], on_result=hook)
    assert seen == {"constant": 1, "while": 1, "compare": 4, "multiply": 3, "add": 3}
    assert results[1] == ((1 * 1 + 1) * 2 + 1) * 3 + 1


def test_loop_iteration_is_not_recompiled() -> None:
    """A turn compares, multiplies and adds; nothing is looked up or compiled again for it."""
    program = parse_module(FACTORIAL)
    few, many = (calls_of(lambda n=n: evaluate(program, [si32(n)])) for n in (100, 1100))
    assert (many - few) / 1000 <= 30


def test_changing_the_table_of_ops_recompiles_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = parse_module(FACTORIAL)
    assert evaluate(program, [si32(4)])[1] == 24
    monkeypatch.setitem(OPS, "multiply", replace(OPS["multiply"], evaluate=OPS["add"].evaluate))
    assert evaluate(program, [si32(4)])[1] == 11
    monkeypatch.undo()
    assert evaluate(program, [si32(4)])[1] == 24


def test_bodies_that_call_functions_are_applied_to_whole_arrays() -> None:
    text = """func.func @main(%x: tensor<50000xi32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = func.call @sum(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
        stablehlo.return %c : tensor<i32>
      }) : (tensor<50000xi32>, tensor<i32>) -> tensor<i32>
      return %r : tensor<i32>
    }
    func.func private @sum(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %d = stablehlo.constant dense<1> : tensor<i32>
      %c = stablehlo.composite "my.sum" %a, %b {decomposition = @plain}
        : (tensor<i32>, tensor<i32>) -> tensor<i32>
      return %c : tensor<i32>
    }
    func.func private @plain(%a: tensor<i32>, %b: tensor<i32>) -> tensor<i32> {
      %c = stablehlo.add %a, %b : tensor<i32>
      return %c : tensor<i32>
    }"""
    given = np.arange(50000, dtype=np.int32)
    assert run(text, given) == [1249975000]
    assert calls_of(lambda: run(text, given)) < 2000


def test_constants_are_made_once_and_cannot_be_written_to() -> None:
    text = "func.func @main() -> tensor<2xi32> {%c = stablehlo.constant dense<[1, 2]> : "
    program = parse_module(text + "tensor<2xi32>\nreturn %c : tensor<2xi32>}")
    (first,), (again,) = evaluate(program, []), evaluate(program, [])
    assert first is again
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 3


# --- Tuples, tokens, barriers --------------------------------------------------------------------


def test_tuples_in_tuples() -> None:
    text = """func.func @main(%x: tensor<2xi32>, %y: tensor<i1>) -> (tensor<i1>, tensor<2xi32>) {
      %t = stablehlo.create_token : !stablehlo.token
      %k = stablehlo.after_all %t, %t : !stablehlo.token
      %a = stablehlo.tuple %y, %k : tuple<tensor<i1>, !stablehlo.token>
      %b = "stablehlo.tuple"(%x, %a) : (tensor<2xi32>, tuple<tensor<i1>, !stablehlo.token>)
        -> tuple<tensor<2xi32>, tuple<tensor<i1>, !stablehlo.token>>
      %c = stablehlo.get_tuple_element %b[1]
        : (tuple<tensor<2xi32>, tuple<tensor<i1>, !stablehlo.token>>)
        -> tuple<tensor<i1>, !stablehlo.token>
      %d = stablehlo.get_tuple_element %c[0]
        : (tuple<tensor<i1>, !stablehlo.token>) -> tensor<i1>
      %e = stablehlo.get_tuple_element %b[0]
        : (tuple<tensor<2xi32>, tuple<tensor<i1>, !stablehlo.token>>) -> tensor<2xi32>
      %f:3 = stablehlo.optimization_barrier %d, %k, %e
        : tensor<i1>, !stablehlo.token, tensor<2xi32>
      return %f#0, %f#2 : tensor<i1>, tensor<2xi32>
    }"""
    assert run(text, si32([4, 5]), np.asarray(True)) == [True, [4, 5]]


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("tuple", (VECTOR, TokenType()), {}, TupleType((VECTOR, TokenType()))),
        ("tuple", (), {}, TupleType(())),
        ("get_tuple_element", (TupleType((VECTOR, TokenType())),), {"index": 1}, TokenType()),
        ("after_all", (TokenType(), TokenType()), {}, TokenType()),
        ("create_token", (), {}, TokenType()),
        ("optimization_barrier", (VECTOR, TokenType()), {}, (VECTOR, TokenType())),
        ("optimization_barrier", (), {}, ()),
    ],
)
def test_result_types(name: str, operands: Any, attributes: Any, expected: Any) -> None:
    assert OPS[name].infer(*operands, **attributes) == expected


def test_types_agree_where_sizes_are_unknown() -> None:
    unknown, other = TensorType((None,), F32), TensorType((4,), F32)
    pairs: list[tuple[ValueType, ValueType, bool]] = [
        (VECTOR, unknown, True),
        (VECTOR, other, False),
        (VECTOR, TensorType((3,), SI32), False),
        (VECTOR, TokenType(), False),
        (TupleType((VECTOR,)), TupleType((unknown,)), True),
        (TupleType((VECTOR,)), TupleType((VECTOR, VECTOR)), False),
        (TupleType((VECTOR,)), FutureType((VECTOR,)), False),
        (FutureType((VECTOR,)), FutureType((unknown,)), True),
    ]
    for first, second, agree in pairs:
        assert same_type(first, second) is agree
        assert same_type(second, first) is agree


# --- Cases ---------------------------------------------------------------------------------------


def operations(op: str, count: int = 150) -> list[list[Operation]]:
    drawn = cases(op, F32, seed=2, count=count)
    return [list(case.program.walk()) for case in drawn]


@pytest.mark.slow
def test_cases_cover_nested_loops_and_branches() -> None:
    loops = operations("while")
    assert any(sum(o.name == "while" for o in found) > 1 for found in loops)
    assert any({"case", "if"} & {o.name for o in found} for found in loops)
    turns: set[int] = set()
    for case in cases("while", F32, seed=2, count=60):
        seen: Counter[int] = Counter()

        def count(
            o: Operation, results: tuple[Any, ...], seen: Counter[int] = seen
        ) -> tuple[Any, ...]:
            seen[id(o)] += o.name == "compare"
            return results

        evaluate(case.program, materialise(case.program, case.inputs[0]), on_result=count)
        turns.add(max(seen.values()) - 1)
    assert {0, 1, 2} <= turns
    branches = {len(o.regions) for found in operations("case") for o in found if o.name == "case"}
    assert branches == {1, 2, 3, 4}
    indices: set[int] = set()
    for case in cases("case", F32, seed=2, count=60):
        arrays = materialise(case.program, case.inputs[0])
        indices |= {int(a) for a in arrays if a.dtype == np.int32 and a.ndim == 0}
    assert min(indices) < 0 <= 4 < max(indices)
    tuples = [o for found in operations("tuple") for o in found if o.name == "tuple"]
    types = [o.results[0].type for o in tuples]
    parts = {type(part) for of in types if isinstance(of, TupleType) for part in of.types}
    assert parts == {TensorType, TokenType, TupleType}


@pytest.mark.parametrize("op", BUILDERS)
def test_the_fake_backend_runs_every_case(op: str) -> None:
    for of in ALL[::5]:
        for case in cases(op, of, seed=4, count=4):
            inputs = materialise(case.program, case.inputs[0])
            expected = evaluate(case.program, inputs)
            ran = Session(ReferenceBackend()).compile(case.program).run(inputs)
            assert [a.tobytes() for a in ran] == [a.tobytes() for a in expected]


def first_branch(index: Array, *, branches: tuple[Body, ...]) -> tuple[Any, ...]:
    return branches[int(index) if 0 <= index < len(branches) else 0]()


def other_branch(pred: Array, *, true_branch: Body, false_branch: Body) -> tuple[Any, ...]:
    return false_branch() if pred else true_branch()


def one_turn_more(state: tuple[Any, ...], *, cond: Body, body: Body) -> tuple[Any, ...]:
    while cond(*state)[0]:
        state = body(*state)
    return body(*state)


def turn_before_condition(state: tuple[Any, ...], *, cond: Body, body: Body) -> tuple[Any, ...]:
    for _ in range(20):  # past a limit that it is compared with by NE there is no end
        state = body(*state)
        if not cond(*state)[0]:
            break
    return state


def zeros_like(operand: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.zeros_like(v) if isinstance(v, np.ndarray) else v for v in operand)


@pytest.mark.parametrize(
    ("op", "wrong"),
    [
        ("case", first_branch), ("if", other_branch), ("while", one_turn_more),
        ("while", turn_before_condition), ("optimization_barrier", zeros_like),
        ("after_all", zeros_like), ("tuple", zeros_like),
    ],
)  # fmt: skip
def test_cases_detect_wrong_results(
    op: str, wrong: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = "optimization_barrier" if op == "after_all" else op
    verdicts: Counter[Verdict] = Counter()
    for case in cases(op, F32, seed=6, count=60):
        inputs = materialise(case.program, case.inputs[0])
        expected = evaluate(case.program, inputs)
        with monkeypatch.context() as patch:
            patch.setitem(OPS, changed, replace(OPS[changed], evaluate=wrong))
            actual = evaluate(case.program, inputs)
        verdicts[judge(case.program, inputs, expected, list(actual), DATA).verdict] += 1
    assert verdicts[Verdict.DIVERGENT] > 3
