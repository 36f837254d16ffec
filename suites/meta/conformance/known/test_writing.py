"""Operations written one after another have names of their own."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.known.writing import OperationWriter
from conformance.stablehlo.parse import parse_module
from conformance.transforms.extract import replace_body
from reference.interpreter.evaluate import evaluate
from reference.ir.program import (
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    tensor_of,
)
from reference.ir.types import element_type

F32 = element_type("f32")
PROGRAM = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.negate %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""


def test_written_operations_take_the_place_of_an_operation() -> None:
    program, of = parse_module(PROGRAM), F32
    *_, end = program.main.body.operations
    (x,), (result,) = program.subject.operands, program.subject.results
    writer = OperationWriter(result.name)
    two = writer.constant(np.array([1, 2, 3]), of)
    total = writer.add("add", (x, two), of)
    same = writer.add("reverse", (total,), of, dimensions=(0,))
    assert tensor_of(same) == tensor_of(result)
    body = [*writer.operations, Operation("abs", (same,), (result,)), end]
    (found,) = evaluate(replace_body(program, body), [np.array([1, -5, 2], np.float32)])
    assert found.tolist() == [5, 3, 2]
    names = [value.name for one in writer.operations for value in one.results]
    assert len({*names, result.name, x.name}) == 5


def test_a_shape_may_be_stated() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), F32))
    flat = writer.add("reshape", (x,), F32, (6,))
    assert flat == Value("x.0", TensorType((6,), F32))
    assert tensor_of(writer.add("negate", (x,), F32)).shape == (2, 3)


def test_a_value_may_be_defined() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), F32))
    result = Value("y", TensorType((3, 2), F32))
    assert writer.define(result, "transpose", (x,), permutation=(1, 0)) == result
    (operation,) = writer.operations
    assert (operation.operands, operation.results) == ((x,), (result,))
    assert operation.attribute("permutation") == (1, 0)


def test_a_slice_has_adjacent_elements() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), F32))
    assert tensor_of(writer.slice(x, (1, 0), (2, 2))).shape == (1, 2)
    (operation,) = writer.operations
    assert operation.attribute("limit_indices") == (2, 2)
    assert operation.attribute("strides") == (1, 1)


def test_an_element_type_may_be_left_out() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), F32))
    assert tensor_of(writer.add("negate", (x,))).element == F32


def test_regions_and_attributes_are_those_given() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2,), F32))
    region = Region((), ())
    writer.add("map", (x,), F32, regions=[region], dimensions=(0,))
    (operation,) = writer.operations
    assert operation.regions == (region,)
    assert operation.attribute("dimensions") == (0,)


def test_a_number_fills_the_shape_of_a_value() -> None:
    writer, x = OperationWriter("x"), Value("x", TensorType((2, 3), F32))
    filled = writer.fill_like(x, 7, element_type("ui8"))
    assert filled.type == TensorType((2, 3), element_type("ui8"))
    assert [one.name for one in writer.operations] == ["constant"]


def test_a_number_fills_dynamic_sizes() -> None:
    x = Value("x", TensorType((None, 2), F32, bounds=(5, None)))
    writer = OperationWriter("y")
    filled = writer.fill_like(x, 7, F32)
    assert tensor_of(filled).shape == (None, 2)
    body = Region((x,), (*writer.operations, Operation("return", (filled,))))
    program = Program((Function("main", body, (filled.type,)),))
    (found,) = evaluate(program, [np.ones((3, 2), np.float32)])
    assert found.tolist() == [[7, 7]] * 3


def test_a_dynamic_size_without_a_bound_is_refused() -> None:
    x = Value("x", TensorType((None,), F32))
    with pytest.raises(ValueError, match="unknown size"):
        OperationWriter("x").fill_like(x, 7, F32)
