"""Loops whose trip count is computed wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.judging.compare import judge
from conformance.known.xla.loops.trip_counts import LABEL, rewrite
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.table import RULES
from conformance.verdict import Verdict
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Operation, Program, Region, Value, attributes


def loop(
    start: int, limit: int, step: int, direction: str, *, known: bool = True, within: bool = False
) -> Program:
    """Return a loop that adds 1 to its value. Its limit is a constant if `known`, defined in the
    condition if `within`.
    """
    taken = "" if known else ", %limit: tensor<i32>"
    constant = f"%limit = stablehlo.constant dense<{limit}> : tensor<i32>" if known else ""
    return parse_module(f"""
func.func @main(%x: tensor<i32>{taken}) -> tensor<i32> {{
  %start = stablehlo.constant dense<{start}> : tensor<i32>
  {"" if within else constant}
  %0:2 = stablehlo.while(%i = %start, %y = %x) : tensor<i32>, tensor<i32>
  cond {{
    {constant if within else ""}
    %c = stablehlo.compare {direction}, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{step}> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.add %i, %step : tensor<i32>
    %z = stablehlo.add %y, %one : tensor<i32>
    stablehlo.return %n, %z : tensor<i32>, tensor<i32>
  }}
  return %0#1 : tensor<i32>
}}""")


def kind_of(program: Program, turns: int, *inputs: int) -> str:
    """Return the class of a result after so many iterations, "" if it is right."""
    given = tuple(np.array(one, np.int32) for one in (0, *inputs))
    actual = (np.array(turns, np.int32),)
    judged = judge(program, given, evaluate(program, given), actual, RULES["data"])
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


@pytest.mark.parametrize(
    ("start", "limit", "step", "direction", "right", "wrong"),
    [(0, 1, 2, "LT", 1, 0), (1, 3, 3, "LT", 1, 0), (5, 4, 2, "LE", 0, 1)],
)
def test_one_iteration_too_few_or_too_many_has_the_class(
    start: int, limit: int, step: int, direction: str, right: int, wrong: int
) -> None:
    for within in (False, True):
        program = loop(start, limit, step, direction, within=within)
        assert kind_of(program, right) == ""
        assert kind_of(program, wrong) == LABEL
        assert kind_of(program, wrong + 5) == "wrong value"


def test_loops_in_functions_are_counted_so_too() -> None:
    inside = loop(0, 1, 2, "LT").main
    called = replace(inside, name="inside")
    (x,), (of,) = inside.arguments, inside.result_types
    result = Value("r", of)
    call = Operation("call", (x,), (result,), attributes(callee="inside"))
    body = Region((x,), (call, Operation("return", (result,))))
    program = Program((Function("main", body, (of,)), called))
    ((other,),) = rewrite(program)
    given = (np.array(0, np.int32),)
    assert [int(evaluate(one, given)[0]) for one in (program, other)] == [1, 0]


def test_other_loops_are_counted_rightly() -> None:
    assert kind_of(loop(0, 4, 2, "LT"), 1) == "wrong value"
    assert kind_of(loop(0, 3, 2, "LT"), 1) == "wrong value"
    assert kind_of(loop(0, 1, 2, "LE"), 0) == "wrong value"
    assert kind_of(loop(5, 3, 2, "LE"), 1) == "wrong value"
    assert kind_of(loop(0, 1, 2, "LT", known=False), 0, 1) == "wrong value"
