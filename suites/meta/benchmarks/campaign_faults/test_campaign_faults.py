"""Seeded faults: campaigns find them, and find nothing without a fault."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.campaign_faults.backends import backend_with_code, backend_with_rewriting
from benchmarks.campaign_faults.hunting import hunt_fault
from benchmarks.campaign_faults.rewritings import REWRITINGS, Rewriting, rewrite_program
from benchmarks.campaign_faults.seeding import family_of, faults_in_order
from conformance.catalog import CATALOG
from conformance.stablehlo.parse import parse_module
from reference.interpreter.evaluate import evaluate
from reference.ops import data_movement

SLICED = """
func.func @main(%x: tensor<8xf32>) -> tensor<2xf32> {
  %0 = stablehlo.slice %x [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.slice %0 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"""


def test_a_wrong_rewriting_changes_what_a_program_computes() -> None:
    program, x = parse_module(SLICED), np.arange(8, dtype=np.float32)
    other = rewrite_program(program, REWRITINGS["slice_of_slice"])
    (right,), (wrong,) = evaluate(program, (x,)), evaluate(other, (x,))
    assert right.tolist() == [3, 7]
    assert wrong.tolist() == [2, 4]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["selected_the_other_way", "product_added_twice"])
def test_a_wrong_rewriting_is_found(name: str) -> None:
    assert hunt_fault(backend_with_rewriting(REWRITINGS[name]), frozenset(), 0, 30.0).failure


def test_campaign_without_faults_finds_nothing() -> None:
    nothing = Rewriting("nothing is rewritten", lambda *_: None)
    found = hunt_fault(backend_with_rewriting(nothing), frozenset(), 0, 0.0)
    assert (found.programs, found.failure) == (16, "")


@pytest.mark.slow
def test_code_of_an_op_is_found_by_its_family_and_the_reference_is_unchanged() -> None:
    def reverse(operand, *, dimensions):
        del dimensions
        return operand

    before = data_movement.reverse.__code__
    backend, end = backend_with_code(
        "nothing is reversed", [(data_movement.reverse, reverse.__code__)]
    )
    try:
        found = hunt_fault(backend, family_of("reverse"), 0, 30.0)
    finally:
        end()
    assert found.failure
    assert data_movement.reverse.__code__ is before


def test_families_are_visited_round_robin() -> None:
    first = [CATALOG[op].family for op, _ in zip(faults_in_order(0), range(14), strict=False)]
    assert len(set(first)) == len(first)
    assert sorted(faults_in_order(0)) == sorted(faults_in_order(1))
    assert [*faults_in_order(0)] != [*faults_in_order(1)]
