"""The specification's own examples of the ops that talk to a host, evaluated.

Values are the specification's (seeds/004); where its examples have none, any will do.
"""

from collections import deque

import numpy as np

from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import check, evaluate
from reference.ir.types import Array
from reference.ops.host import Channel

MATRIX = np.array([[1, 2], [3, 4]])


def test_infeed() -> None:
    text = """func.func @main() -> (tensor<2x2xi64>, tensor<2x2xi64>) {
      %token = stablehlo.after_all : !stablehlo.token
      %results0:2 = "stablehlo.infeed"(%token) {infeed_config = ""}
        : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
      %results1:2 = "stablehlo.infeed"(%token) {infeed_config = ""}
        : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
      return %results0#0, %results1#0 : tensor<2x2xi64>, tensor<2x2xi64>
    }"""
    program = parse_module(text)
    assert check(program) == []
    first, second = evaluate(program, [], infeeds=[(MATRIX,), (MATRIX + 4,)])
    assert first.tolist() == [[1, 2], [3, 4]]
    assert second.tolist() == [[5, 6], [7, 8]]


def test_outfeed() -> None:
    text = """func.func @main(%input0: tensor<2x2x2xi64>) {
      %token = stablehlo.after_all : !stablehlo.token
      %result = "stablehlo.outfeed"(%input0, %token) {outfeed_config = ""}
        : (tensor<2x2x2xi64>, !stablehlo.token) -> !stablehlo.token
      return
    }"""
    program = parse_module(text)
    assert check(program) == []
    written: list[tuple[Array, ...]] = []
    cube = np.arange(8).reshape(2, 2, 2)
    assert evaluate(program, [cube], outfeed=written) == ()
    assert [[array.tolist() for array in given] for given in written] == [[cube.tolist()]]


def test_send_and_recv() -> None:
    text = """func.func @main(%operand: tensor<2x2xi64>) -> tensor<2x2xi64> {
      %token = stablehlo.after_all : !stablehlo.token
      %result = "stablehlo.send"(%operand, %token) {
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true
      } : (tensor<2x2xi64>, !stablehlo.token) -> !stablehlo.token
      %results0, %results1 = "stablehlo.recv"(%token) {
        channel_handle = #stablehlo.channel_handle<handle = 2, type = 3>, is_host_transfer = true
      } : (!stablehlo.token) -> (tensor<2x2xi64>, !stablehlo.token)
      return %results0 : tensor<2x2xi64>
    }"""
    program = parse_module(text)
    assert check(program) == []
    sent: Channel = deque()
    channels: dict[int, Channel] = {1: sent, 2: deque([(MATRIX + 10,)])}
    (received,) = evaluate(program, [MATRIX], channels=channels)
    assert received.tolist() == [[11, 12], [13, 14]]
    assert [[array.tolist() for array in given] for given in sent] == [[[[1, 2], [3, 4]]]]
