"""NaN where a compiler adds to the zero that f8E8M0FNU does not have."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.catalog import CATALOG
from conformance.judging.compare import judge
from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.xla import missing_zero
from conformance.stablehlo.parse import parse_module
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Value, single_op
from suites.meta.support.small_programs import tensor_of


@pytest.mark.parametrize(
    ("actual", "platform", "kind"),
    [
        (np.nan, Hardware.TPU, missing_zero.LABEL),
        (4.0, Hardware.TPU, "wrong value"),
        (np.nan, Hardware.CPU, "NaN"),
    ],
)
def test_nan_of_a_reshape_is_of_the_class(actual: float, platform: str, kind: str) -> None:
    of, to = tensor_of(2, 1, of="f8E8M0FNU"), tensor_of(2, of="f8E8M0FNU")
    program = single_op("reshape", (Value("x", of),), (to,))
    inputs = [np.full((2, 1), 2.0).astype(of.storage)]
    got = [np.full(2, actual).astype(to.storage)]
    rule = CATALOG["reshape"].tolerance
    found = judge(program, inputs, evaluate(program, inputs), got, rule, platform=platform)
    assert found.kind == kind


BRANCHES = """
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func @main(%x: tensor<2xf8E8M0FNU>, %i: tensor<i32>) -> tensor<2xf8E8M0FNU> {
    %0 = "stablehlo.case"(%i) ({
      %1 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64,
        split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
        : (tensor<2xf8E8M0FNU>) -> tensor<2xf8E8M0FNU>
      stablehlo.return %1 : tensor<2xf8E8M0FNU>
    }) : (tensor<i32>) -> tensor<2xf8E8M0FNU>
    return %0 : tensor<2xf8E8M0FNU>
  }
}"""


@pytest.mark.parametrize(("actual", "is_known"), [(np.nan, True), (8.0, False)])
def test_nan_of_a_collective_in_a_branch(actual: float, is_known: bool) -> None:
    program = parse_module(BRANCHES)
    x, i = np.array([2.0, 4.0]).astype(tensor_of(2, of="f8E8M0FNU").storage), np.array(0, np.int32)
    inputs = [x, i, x, i]
    got = [np.full(2, actual).astype(x.dtype)] * 2
    rule = CATALOG["all_to_all"].tolerance
    expected = evaluate(program, inputs)
    found = judge(program, inputs, expected, got, rule, platform=Hardware.TPU)
    assert (found.kind == missing_zero.LABEL) == is_known


SCATTER = """
func.func @main(%x: tensor<3xf8E8M0FNU>, %i: tensor<i32>, %u: tensor<1xf8E8M0FNU>)
    -> tensor<3xf8E8M0FNU> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%a: tensor<f8E8M0FNU>, %b: tensor<f8E8M0FNU>):
    %1 = stablehlo.multiply %a, %b : tensor<f8E8M0FNU>
    stablehlo.return %1 : tensor<f8E8M0FNU>
  }) : (tensor<3xf8E8M0FNU>, tensor<i32>, tensor<1xf8E8M0FNU>) -> tensor<3xf8E8M0FNU>
  return %0 : tensor<3xf8E8M0FNU>
}"""


@pytest.mark.parametrize(
    ("actual", "kind"),
    [
        ((1.0, np.nan, 4.0), missing_zero.LABEL),
        ((np.nan, 4.0, 4.0), "NaN"),
        ((1.0, 2.0, 4.0), "wrong value"),
    ],
)
def test_nan_of_an_update_is_of_the_class(actual: tuple[float, ...], kind: str) -> None:
    """The second number, 2, is to be multiplied by 2."""
    program = parse_module(SCATTER)
    storage = tensor_of(of="f8E8M0FNU").storage
    x, u = (np.array(one).astype(storage) for one in ([1, 2, 4], [2]))
    inputs = [x, np.array(1, np.int32), u]
    expected, got = evaluate(program, inputs), [np.array(actual).astype(storage)]
    rule = CATALOG["scatter"].tolerance
    found = judge(program, inputs, expected, got, rule, platform=Hardware.TPU)
    assert found.kind == kind


UPDATE = """
func.func @main(%x: tensor<2x1xf8E8M0FNU>, %u: tensor<1x1xf8E8M0FNU>, %i: tensor<i32>)
    -> tensor<1x2x1xf8E8M0FNU> {
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %i :
    (tensor<2x1xf8E8M0FNU>, tensor<1x1xf8E8M0FNU>, tensor<i32>, tensor<i32>)
    -> tensor<2x1xf8E8M0FNU>
  %1 = stablehlo.reshape %0 : (tensor<2x1xf8E8M0FNU>) -> tensor<1x2x1xf8E8M0FNU>
  return %1 : tensor<1x2x1xf8E8M0FNU>
}"""


@pytest.mark.parametrize(
    ("actual", "is_known"),
    [
        ((1.0, np.nan), True),  # measured: the update is right
        ((1.0, 4.0), False),
        ((2.0, np.nan), False),
    ],
)
def test_what_an_update_leaves_is_nan(actual: tuple[float, ...], is_known: bool) -> None:
    program = parse_module(UPDATE)
    of = tensor_of(1, of="f8E8M0FNU").storage
    x, u = np.array([[2.0], [2.0]]).astype(of), np.array([[1.0]]).astype(of)
    permitted = PermittedResults(program, (x, u, np.array(0, np.int32)), Hardware.TPU)
    found = judge_program(permitted, (np.array(actual).astype(of).reshape(1, 2, 1),))
    assert (found.kind == missing_zero.LABEL) == is_known
