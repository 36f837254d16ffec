"""Types that follow from values of other types than stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conformance.known.writing import constant
from conformance.stablehlo.parse import parse_module
from conformance.transforms.inferred import replace_and_infer
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Operation, TensorType
from suites.meta.support.small_programs import array

PROGRAM = """
func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<{last}>) {{
  %0 = stablehlo.abs %x : tensor<2xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<2xf32>
  %2 = {operation} : {type}
  return %1, %2 : tensor<2xf32>, tensor<{last}>
}}"""


def results_with_six(operation: str, types: str, last: str) -> list[list[float]] | None:
    """Return the results if the first operation gives the six numbers 0 to 5, in two rows."""
    program = parse_module(PROGRAM.format(operation=operation, type=types, last=last))
    first = program.main.body.operations[0]
    six = array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    (value,) = first.results
    assert isinstance(value.type, TensorType)
    wide = replace(value, type=replace(value.type, shape=six.shape))
    whole = replace_and_infer(program, lambda one: [constant(wide, six)] if one == first else [])
    x = array([1.0, 2.0])
    return None if whole is None else [one.tolist() for one in evaluate(whole, (x, x))]


def test_types_are_inferred_from_the_operands() -> None:
    found = results_with_six("stablehlo.add %1, %0", "tensor<2xf32>", "2xf32")
    assert found == [[[3, 4, 5], [0, 1, 2]], [[3, 5, 7], [3, 5, 7]]]


def test_stated_types_that_an_operation_needs_are_kept() -> None:
    types = "(tensor<2xf32>) -> tensor<2x2xui16>"
    assert results_with_six("stablehlo.bitcast_convert %1", types, "2x2xui16") is None
    found = results_with_six("stablehlo.convert %1", "(tensor<2xf32>) -> tensor<2xi8>", "2xi8")
    assert found == [[[3, 4, 5], [0, 1, 2]]] * 2
    types = "(tensor<2xf32>) -> tensor<2x3xf32>"
    assert results_with_six("stablehlo.broadcast_in_dim %y, dims = [0]", types, "2x3xf32") == [
        [[3, 4, 5], [0, 1, 2]],
        [[1, 1, 1], [2, 2, 2]],
    ]


@pytest.mark.parametrize("operation", ["stablehlo.add %1, %y", "stablehlo.add %y, %1"])
def test_operands_that_do_not_fit_have_no_program(operation: str) -> None:
    assert results_with_six(operation, "tensor<2xf32>", "2xf32") is None


BRANCHES = """
func.func @main(%p: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.abs %x : tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }, {
    %1 = stablehlo.abs %x : tensor<2xf32>
    %2 = stablehlo.negate OPERAND : tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


def test_operations_of_regions_are_replaced() -> None:
    six = array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])

    def six_for_abs(operation: Operation) -> list[Operation]:
        if operation.name != "abs":
            return []
        (value,) = operation.results
        assert isinstance(value.type, TensorType)
        return [constant(replace(value, type=replace(value.type, shape=six.shape)), six)]

    whole = replace_and_infer(parse_module(BRANCHES.replace("OPERAND", "%1")), six_for_abs)
    assert whole is not None
    (result,) = evaluate(whole, (np.array(False), array([1.0, 2.0])))
    assert result.tolist() == (-six).tolist()
    # the branches have results of two types
    assert replace_and_infer(parse_module(BRANCHES.replace("OPERAND", "%x")), six_for_abs) is None
