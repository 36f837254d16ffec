"""Programs of several processes: communication in loops and branches, and deadlocks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.interpreter.processes import Grid, GridProcess, current_process, last_process
from reference.ir.program import Operation
from reference.ir.types import Array

SUM = """
  func.func private @sum(%x: tensor<i64>) -> tensor<i64> {
    %r = "stablehlo.all_reduce"(%x) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64>
    return %r : tensor<i64>
  }
"""


def ran(body: str, *inputs: int) -> list[int]:
    """Return the results of main in two replicas, given the text of its body, on one
    number each.
    """
    text = f"""module attributes {{mhlo.num_replicas = 2 : i32}} {{
      func.func @main(%x: tensor<i64>) -> tensor<i64> {{ {body} }} {SUM} }}"""
    arrays: list[Array] = [np.array(number, np.int64) for number in inputs]
    return [int(result) for result in evaluate(parse_module(text), arrays)]


LOOP = """
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.constant dense<5> : tensor<i64>
  %id = stablehlo.replica_id : tensor<ui32>
  %wide = stablehlo.convert %id : (tensor<ui32>) -> tensor<i64>
  %rounds = stablehlo.add %n, {more} : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i64>, tensor<i64>
  cond {{
    %go = stablehlo.compare LT, %i, %rounds : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %one : tensor<i64>
    %w = func.call @sum(%v) : (tensor<i64>) -> tensor<i64>
    stablehlo.return %j, %w : tensor<i64>, tensor<i64>
  }}
  return %r#1 : tensor<i64>
"""


def test_processes_communicate_in_every_iteration() -> None:
    assert ran(LOOP.format(more="%zero"), 1, 2) == [48, 48]


def test_a_process_that_never_arrives_is_named() -> None:
    with pytest.raises(EvaluationError) as error:
        ran(LOOP.format(more="%wide"), 1, 2)
    message = str(error.value)
    assert message.startswith("deadlock: process (0, 0) is done; process (1, 0) waits for (0, 0)")
    assert "all_reduce" in message


BRANCH = """
  %id = stablehlo.replica_id : tensor<ui32>
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %first = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
  %r = "stablehlo.if"(%first) ({{
    %p = func.call @sum(%x) : (tensor<i64>) -> tensor<i64>
    %q = func.call @{other}(%p) : (tensor<i64>) -> tensor<i64>
    stablehlo.return %q : tensor<i64>
  }}, {{
    %p = func.call @{other}(%x) : (tensor<i64>) -> tensor<i64>
    %q = func.call @sum(%p) : (tensor<i64>) -> tensor<i64>
    stablehlo.return %q : tensor<i64>
  }}) : (tensor<i1>) -> tensor<i64>
  return %r : tensor<i64>
"""


def test_processes_communicate_from_different_branches() -> None:
    assert ran(BRANCH.format(other="sum"), 1, 2) == [6, 6]


def test_processes_that_wait_for_each_other_are_named() -> None:
    swapped = BRANCH.format(other="other") + "}" + SUM.replace("@sum", "@other").rstrip()[:-1]
    with pytest.raises(EvaluationError) as error:
        ran(swapped, 1, 2)
    message = str(error.value)
    assert "process (0, 0) waits for (1, 0)" in message
    assert "process (1, 0) waits for (0, 0)" in message


def test_an_error_in_one_process_ends_all() -> None:
    text = """module attributes {mhlo.num_replicas = 3 : i32} {
      func.func @main(%x: tensor<i64>) -> tensor<i64> {
        %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<i64>) -> tensor<i64>
        return %r : tensor<i64> } }"""
    text = text.replace("tensor<i64>)", "tensor<2xi64>)").replace(
        "(%x: tensor<i64>", "(%x: tensor<2xi64>"
    )
    text = text.replace("-> tensor<i64>", "-> tensor<4xi64>").replace(
        "%r : tensor<i64>", "%r : tensor<4xi64>"
    )
    numbers = [np.arange(2)] * 3
    with pytest.raises(EvaluationError, match=r"process \(2, 0\) is in no group|breaks C3"):
        evaluate(parse_module(text), numbers)


def test_empty_groups_are_an_error_that_says_so() -> None:
    text = f"""module {{
      func.func @main(%x: tensor<i64>) -> tensor<i64> {{
        %r = func.call @sum(%x) : (tensor<i64>) -> tensor<i64>
        return %r : tensor<i64> }} {SUM} }}"""
    text = text.replace("dense<[[0, 1]]> : tensor<1x2xi64>", "dense<> : tensor<0x0xi64>")
    with pytest.raises(EvaluationError, match="replica_groups is empty"):
        evaluate(parse_module(text), [np.array(1)])


SENDS = """module attributes {{mhlo.num_replicas = 3 : i32}} {{
  func.func @main(%x: tensor<i64>) -> tensor<i64> {{
    %t = stablehlo.after_all : !stablehlo.token
    %s = "stablehlo.send"(%x, %t) {{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<{pairs}> : tensor<3x2xi64>}}
      : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
    %r:2 = "stablehlo.recv"(%s) {{
      channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      source_target_pairs = dense<{pairs}> : tensor<3x2xi64>}}
      : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
    return %r#0 : tensor<i64> }} }}"""


def test_sent_value_arrives_at_its_target() -> None:
    program = parse_module(SENDS.format(pairs="[[0, 2], [2, 1], [1, 0]]"))
    results = evaluate(program, [np.array(number) for number in (10, 20, 30)])
    assert [int(result) for result in results] == [20, 30, 10]


def test_process_waiting_for_missing_send_is_named() -> None:
    program = parse_module(SENDS.format(pairs="[[0, 2], [2, 1], [1, 0]]"))
    (main,) = program.functions
    kept = tuple(operation for operation in main.body.operations if operation.name != "send")
    kept = tuple(
        replace(one, operands=kept[0].results) if one.name == "recv" else one for one in kept
    )
    silent = replace(program, functions=(replace(main, body=replace(main.body, operations=kept)),))
    with pytest.raises(EvaluationError, match=r"deadlock: process \(0, 0\) waits for .* = recv"):
        evaluate(silent, [np.array(number) for number in (10, 20, 30)])


FEED = """module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main() -> tensor<i64> {
    %t = stablehlo.after_all : !stablehlo.token
    %r:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<i64>, !stablehlo.token)
    %o = "stablehlo.outfeed"(%r#0, %r#1) : (tensor<i64>, !stablehlo.token) -> !stablehlo.token
    return %r#0 : tensor<i64> } }"""


def test_each_process_has_feeds_of_its_own() -> None:
    infeeds = {(0, 0): [(np.array(1),)], (1, 0): [(np.array(2),)]}
    written: dict[tuple[int, int], list[tuple[Array, ...]]] = {}
    results = evaluate(parse_module(FEED), [], infeeds=infeeds, outfeed=written)
    assert [int(result) for result in results] == [1, 2]
    assert {process: int(given[0][0]) for process, given in written.items()} == {
        (0, 0): 1, (1, 0): 2,
    }  # fmt: skip


# --- The grid itself -----------------------------------------------------------------------------

AT = Operation("all_gather")


def test_processes_run_in_order_until_they_wait() -> None:
    log: list[str] = []

    def start(member: GridProcess) -> tuple[Any, ...]:
        log.append(f"{member.id} begins")
        values = member.at(AT).exchange([(0, 0), (0, 1)], member.id)
        log.append(f"{member.id} ends")
        assert current_process() == member.id
        return (values,)

    assert Grid((1, 2)).run([start, start]) == [([(0, 0), (0, 1)],)] * 2
    assert log == ["(0, 0) begins", "(0, 1) begins", "(0, 1) ends", "(0, 0) ends"]


def test_each_execution_of_an_operation_is_another_rendezvous() -> None:
    def start(member: GridProcess) -> tuple[Any, ...]:
        pair = [(0, 0), (1, 0)]
        return tuple(member.at(AT).exchange(pair, 10 * turn + member.id[0]) for turn in range(2))

    grid = Grid((2, 1))
    assert grid.run([start, start]) == [([0, 1], [10, 11])] * 2
    assert len(grid._posted) == 1  # values of the first rendezvous are discarded


def test_different_programs_meet_at_equal_operations() -> None:
    def start(member: GridProcess) -> tuple[Any, ...]:
        own = Operation("all_gather")  # a program of its own: equal, not the same
        return tuple(member.at(own).exchange([(0, 0), (0, 1)], member.id[1]))

    assert Grid((1, 2), same_program=False).run([start, start]) == [(0, 1)] * 2
    with pytest.raises(EvaluationError, match="deadlock"):
        Grid((1, 2)).run([start, start])


def test_a_process_outside_of_the_grid_is_an_error() -> None:
    def start(member: GridProcess) -> tuple[Any, ...]:
        return tuple(member.at(AT).take([(0, 1)]))

    with pytest.raises(EvaluationError, match=r"no process \(0, 1\) in a grid of \(1, 1\)"):
        Grid((1, 1)).run([start])
    with pytest.raises(EvaluationError, match=r"no process \(0, 1\): one process runs"):
        GridProcess((0, 0)).at(AT).take([(0, 1)])


def test_a_condition_is_waited_for() -> None:
    items: list[int] = []

    def wait(member: GridProcess) -> tuple[Any, ...]:
        member.wait_until(AT, lambda: bool(items))
        return (len(items),)

    def give(_: GridProcess) -> tuple[Any, ...]:
        items.append(1)
        return (0,)

    assert Grid((2, 1)).run([wait, give]) == [(1,), (0,)]
    items.clear()
    with pytest.raises(EvaluationError, match=r"deadlock: process \(0, 0\) waits for \(1, 0\)"):
        Grid((2, 1)).run([wait, wait])


def test_the_last_process_can_be_queried_again() -> None:
    process = GridProcess((0, 0)).at(AT)
    process.post(5)
    assert last_process().exchange([(0, 0)], 7) == [5]  # posts nothing
