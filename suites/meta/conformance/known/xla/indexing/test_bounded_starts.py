"""Slices of a value with a dynamic size, from a start clamped to the bound."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import PermittedResults
from conformance.judging.perturbation.judge import judge_program
from conformance.known.xla.indexing.bounded_starts import LABEL
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.program import Program

BOUNDED = "tensor<?xf32, #stablehlo.bounds<4>>"


def slice_program() -> Program:
    """Return a negated slice of two elements of a value with a dynamic size."""
    of = BOUNDED
    return parse_module(f"""
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %i: tensor<i32>) -> tensor<2xf32> {{
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> {of}
  %1 = stablehlo.dynamic_slice %0, %i, sizes = [2] : ({of}, tensor<i32>) -> tensor<2xf32>
  %2 = stablehlo.negate %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}}""")


def kind_of(program: Program, size: int, start: int, got: list[float]) -> str:
    """Return the class of a slice of 1, 2, 3, 4; "" if it is right."""
    x = np.array([1, 2, 3, 4], np.float32)
    inputs = (x, np.array(size, np.int32), np.array(start, np.int32))
    judged = judge_program(PermittedResults(program, inputs), (np.array(got, np.float32),))
    return judged.kind if judged.verdict is Verdict.DIVERGENT else ""


@pytest.mark.parametrize(
    ("size", "start", "got", "kind"),
    [
        (3, 2, [-2, -3], ""),
        (3, 2, [-3, -4], LABEL),
        (3, 2, [-3, 17], LABEL),  # nobody knows what the padding holds
        (3, 2, [-1, -4], "wrong value"),
        (2, 1, [-2, 0], LABEL),
        (4, 2, [-1, -2], "wrong value"),  # nothing is cut
        (3, 0, [-2, -3], "wrong value"),  # starts early enough
    ],
)
def test_start_clamped_to_the_bound_has_the_class(
    size: int, start: int, got: list[float], kind: str
) -> None:
    assert kind_of(slice_program(), size, start, got) == kind


@pytest.mark.parametrize(
    ("start", "got", "kind"),
    [
        (1, [-2, -3, -11, -12, 0], LABEL),  # of 3 + 2 elements, with room for 4 + 2
        (2, [-2, -3, -11, -12, 0], LABEL),
        (2, [-3, -11, -12, 0, 0], "wrong value"),  # there is no room for 8, which is stated
    ],
)
def test_a_start_is_clamped_to_the_bound_that_follows_from_the_operands(
    start: int, got: list[float], kind: str
) -> None:
    stated = BOUNDED.replace("4", "8")
    program = parse_module(f"""
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %i: tensor<i32>) -> tensor<5xf32> {{
  %t = stablehlo.constant dense<[11.0, 12.0]> : tensor<2xf32>
  %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<4xf32>, tensor<i32>) -> {BOUNDED}
  %j = stablehlo.concatenate %0, %t, dim = 0 : ({BOUNDED}, tensor<2xf32>) -> {stated}
  %1 = stablehlo.dynamic_slice %j, %i, sizes = [5] : ({stated}, tensor<i32>) -> tensor<5xf32>
  %2 = stablehlo.negate %1 : tensor<5xf32>
  return %2 : tensor<5xf32>
}}""")
    assert kind_of(program, 3, start, got) == kind


def test_slices_of_known_sizes_begin_where_they_should() -> None:
    program = parse_module("""
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %i: tensor<i32>) -> tensor<2xf32> {
  %1 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<4xf32>, tensor<i32>) -> tensor<2xf32>
  %2 = stablehlo.negate %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}""")
    assert kind_of(program, 2, 1, [-3, -4]) == "wrong value"
