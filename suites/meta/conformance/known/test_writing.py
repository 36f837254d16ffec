"""Operations written one after another have names of their own."""

from __future__ import annotations

import numpy as np

from conformance.known.writing import OperationWriter
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import with_body
from reference.interpreter.evaluate import evaluate
from reference.ir.program import tensor_of
from reference.ir.types import element_type

PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.negate %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""


def test_written_operations_take_the_place_of_an_operation() -> None:
    program, of = parse_module(PROGRAM), element_type("f32")
    *_, end = program.main.body.operations
    (x,), (result,) = program.subject.operands, program.subject.results
    writer = OperationWriter(result)
    two = writer.constant(np.array([1, 2, 3]), of)
    total = writer.add("add", (x, two), (3,), of)
    same = writer.add("reverse", (total,), (3,), of, dimensions=(0,))
    assert tensor_of(same) == tensor_of(result)
    body = [*writer.operations, program.subject.__class__("abs", (same,), (result,)), end]
    (found,) = evaluate(with_body(program, body), [np.array([1, -5, 2], np.float32)])
    assert found.tolist() == [5, 3, 2]
    names = [value.name for one in writer.operations for value in one.results]
    assert len({*names, result.name, x.name}) == 5
