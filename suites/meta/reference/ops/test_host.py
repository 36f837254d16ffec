"""Infeed, outfeed, channels, asynchronous operations: queues, errors, types, refusals."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conformance.backends.base import Unsupported
from conformance.backends.fake.reference import ReferenceBackend
from conformance.backends.session import cached_backend
from conformance.stablehlo.emit import emit
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_results
from generators.cells.plan import cases
from generators.families.host import BUILDERS
from generators.values.contents import materialise
from reference.interpreter.evaluate import EvaluationError, evaluate
from reference.ir.program import (
    Function,
    FutureType,
    Operation,
    Program,
    Region,
    TensorType,
    TokenType,
    Value,
)
from reference.ir.types import ALL, ELEMENT_TYPES, Array
from reference.ops.host import Channel
from reference.ops.table import OPS

VECTOR = TensorType((2,), ELEMENT_TYPES["si32"])


def si32(*values: int) -> Array:
    return np.array(values, np.int32)


INFEED = """func.func @main() -> (tensor<2xi32>, tensor<2xi32>, tensor<i1>) {
  %t = stablehlo.after_all : !stablehlo.token
  %a:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token)
    -> (tensor<2xi32>, !stablehlo.token)
  %b:3 = "stablehlo.infeed"(%a#1) {infeed_config = "x", layout = [[0], []]} : (!stablehlo.token)
    -> (tensor<2xi32>, tensor<i1>, !stablehlo.token)
  return %a#0, %b#0, %b#1 : tensor<2xi32>, tensor<2xi32>, tensor<i1>
}"""


def test_an_infeed_is_read_in_order() -> None:
    feed = [(si32(1, 2),), (si32(3, 4), np.asarray(True))]
    results = evaluate(parse_module(INFEED), [], infeeds=feed)
    assert [r.tolist() for r in results] == [[1, 2], [3, 4], True]
    again = evaluate(parse_module(INFEED), [], infeeds=iter(feed))
    assert [r.tolist() for r in again] == [[1, 2], [3, 4], True]


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        ([], r"the infeed is empty after 0 values \(%1, %2 = infeed\(%0\)\)"),
        ([(si32(1, 2),)], "the infeed is empty after 1 values"),
        ([(si32(1, 2), si32(3, 4))], "the infeed holds 2 arrays, 1 are expected"),
        ([(si32(1, 2, 3),)], r"the infeed, array 0: shape \(3,\) given for tensor<2xsi32>"),
        ([(np.ones(2),)], r"the infeed, array 0: elements of float64 given"),
        (None, "the infeed is empty after 0 values"),
    ],
)
def test_an_infeed_that_does_not_fit(feed: Any, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate(parse_module(INFEED), [], infeeds=feed)


LOOP = """func.func @main(%n: tensor<i32>) -> tensor<2xi32> {
  %t = stablehlo.create_token : !stablehlo.token
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %sum = stablehlo.constant dense<0> : tensor<2xi32>
  %r:3 = "stablehlo.while"(%zero, %t, %sum) ({
  ^bb0(%i: tensor<i32>, %k: !stablehlo.token, %s: tensor<2xi32>):
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %k: !stablehlo.token, %s: tensor<2xi32>):
    %f:2 = "stablehlo.infeed"(%k) : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
    %u = stablehlo.add %s, %f#0 : tensor<2xi32>
    %o = "stablehlo.outfeed"(%u, %i, %f#1)
      : (tensor<2xi32>, tensor<i32>, !stablehlo.token) -> !stablehlo.token
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %o, %u : tensor<i32>, !stablehlo.token, tensor<2xi32>
  }) : (tensor<i32>, !stablehlo.token, tensor<2xi32>)
    -> (tensor<i32>, !stablehlo.token, tensor<2xi32>)
  return %r#2 : tensor<2xi32>
}"""


def test_loop_communicates_with_the_host_in_every_iteration() -> None:
    written: list[tuple[Array, ...]] = []
    feed = [(si32(1, 2),), (si32(3, 4),), (si32(5, 6),), (si32(7, 8),)]
    program = parse_module(LOOP)
    (result,) = evaluate(program, [np.asarray(3, np.int32)], infeeds=feed, outfeed=written)
    assert result.tolist() == [9, 12]
    assert [[a.tolist() for a in given] for given in written] == [
        [[1, 2], 0], [[4, 6], 1], [[9, 12], 2],
    ]  # fmt: skip


def channel(host: bool) -> str:
    away = "type = 2>, is_host_transfer = true" if host else "type = 1>, source_target_pairs = {}"
    back = "type = 3>, is_host_transfer = true" if host else "type = 1>, source_target_pairs = {}"
    return f"""func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {{
      %t = stablehlo.after_all : !stablehlo.token
      %s = "stablehlo.send"(%x, %t) {{channel_handle = #stablehlo.channel_handle<handle = 5,
        {away}}} : (tensor<2xi32>, !stablehlo.token) -> !stablehlo.token
      %r:2 = "stablehlo.recv"(%s) {{channel_handle = #stablehlo.channel_handle<handle = 5,
        {back}}} : (!stablehlo.token) -> (tensor<2xi32>, !stablehlo.token)
      return %r#0 : tensor<2xi32>
    }}"""


def test_channels_are_queues() -> None:
    program = parse_module(channel(host=True))
    assert evaluate(program, [si32(1, 2)])[0].tolist() == [1, 2]
    queue: Channel = deque([(si32(7, 8),)])
    channels = {5: queue}
    assert evaluate(program, [si32(1, 2)], channels=channels)[0].tolist() == [7, 8]
    assert [[a.tolist() for a in given] for given in queue] == [[[1, 2]]]
    fresh: dict[int, Channel] = {}
    evaluate(program, [si32(1, 2)], channels=fresh)
    assert fresh == {5: deque()}
    with pytest.raises(EvaluationError, match=r"channel 5, array 0: shape \(1,\).*recv\(%1\)"):
        evaluate(program, [si32(1, 2)], channels={5: deque([(si32(1),)])})


def test_a_process_may_send_only_to_itself() -> None:
    pairs = "dense<[[0, 0]]> : tensor<1x2xi64>"
    text = channel(host=False)
    assert evaluate(parse_module(text.replace("{}", pairs)), [si32(3, 4)])[0].tolist() == [3, 4]
    away = pairs.replace("[[0, 0]]", "[[0, 1]]")
    with pytest.raises(
        EvaluationError, match=r"\[\[0, 1\]\]: there are 1 processes to send to.*send"
    ):
        evaluate(parse_module(text.replace("{}", away)), [si32(3, 4)])
    nowhere = text.replace(", source_target_pairs = {}", "")
    with pytest.raises(EvaluationError, match="without source_target_pairs is undefined"):
        evaluate(parse_module(nowhere), [si32(3, 4)])


def test_receive_without_send_is_an_error() -> None:
    results = (Value("a", VECTOR), Value("b", TokenType()))
    token = Value("t", TokenType())
    given = (("channel_id", 3), ("channel_type", 3), ("is_host_transfer", True))
    operation = Operation("recv", (token,), results, given)
    begin = Operation("after_all", (), (token,))
    body = Region((), (begin, operation, Operation("return", results[:1])))
    with pytest.raises(EvaluationError, match=r"channel 3 is empty \(%a, %b = recv\(%t\)\)"):
        evaluate(Program((Function("main", body, (VECTOR,)),)), [])


ASYNC = """func.func @main(%x: tensor<4xi32>, %i: tensor<i32>) -> (tensor<2xi32>, tensor<4xi32>) {
  %f = "stablehlo.async_start"(%x, %i) ({
  ^bb0(%y: tensor<4xi32>, %j: tensor<i32>):
    %s = stablehlo.dynamic_slice %y, %j, sizes = [2] : (tensor<4xi32>, tensor<i32>) -> tensor<2xi32>
    stablehlo.return %s : tensor<2xi32>
  }) : (tensor<4xi32>, tensor<i32>) -> !stablehlo.future<tensor<2xi32>>
  %z = stablehlo.add %x, %x : tensor<4xi32>
  %r = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi32>>) -> tensor<2xi32>
  return %r, %z : tensor<2xi32>, tensor<4xi32>
}"""


def test_async_done_returns_started_results() -> None:
    program = parse_module(ASYNC)
    assert parse_module(emit(program)) == program
    assert program.main.body.operations[0].results[0].type == FutureType((VECTOR,))
    results = evaluate(program, [si32(1, 2, 3, 4), np.asarray(1, np.int32)])
    assert [r.tolist() for r in results] == [[2, 3], [2, 4, 6, 8]]


def test_result_types_of_asynchronous_operations() -> None:
    operation = parse_module(ASYNC).main.body.operations[0]
    taken = [value.type for value in operation.operands]
    future = OPS["async_start"].infer(*taken, regions=operation.regions)
    assert future == FutureType((VECTOR,))
    assert OPS["async_done"].infer(future) == (VECTOR,)


def evaluate_at_once(program: Program, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """Return the results of the body of `async_start` on its operands, as a program."""
    start = next(
        operation for operation in program.main.body.operations if operation.name == "async_start"
    )
    operands = evaluate(replace_results(program, start.operands), inputs)
    types = tuple(value.type for value in start.regions[0].operations[-1].operands)
    others = (function for function in program.functions if function is not program.main)
    main = Function("main", start.regions[0], types)
    return evaluate(replace(program, functions=(main, *others)), operands)


@pytest.mark.parametrize("op", BUILDERS)
def test_sent_elements_return(op: str) -> None:
    """Cases need no data but their inputs, and every element that is sent returns."""
    for of in ALL[::4]:
        for case in cases(op, of, seed=1, count=6):
            inputs = materialise(case.program, case.inputs[0])
            results = evaluate(case.program, inputs)
            assert {o.name for o in case.program.walk()} >= {op}
            if op.startswith("async"):
                assert [a.tobytes() for a in results] == [
                    a.tobytes() for a in evaluate_at_once(case.program, inputs)
                ]
            else:
                assert {a.tobytes() for a in results} == {a.tobytes() for a in inputs}


def test_programs_that_wait_for_a_host_are_refused_before_they_wait() -> None:
    for op in ("infeed", "outfeed", "recv", "send"):
        (case,) = cases(op, ELEMENT_TYPES["f32"], 0, 1)
        for backend in (ReferenceBackend(), cached_backend("cpu")):
            refusal = backend.refusal(case.program)
            assert isinstance(refusal, Unsupported)
            assert "host" in str(refusal)
    (case,) = cases("async_start", ELEMENT_TYPES["f32"], 0, 1)
    assert ReferenceBackend().refusal(case.program) is None
