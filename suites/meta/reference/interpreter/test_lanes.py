"""Regions on scalars are applied to whole arrays if each operation works element by element."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from generators.regions.bodies import BodyBuilder
from reference.interpreter.compile import BlockCompiler, CompiledProgram
from reference.interpreter.frames import Block, Run
from reference.interpreter.lanes import evaluate_lanes, lane_steps
from reference.ir.program import Operation, Program, Region, TensorType
from reference.ir.types import Array, element_type
from reference.ops.host import Queues

F32 = element_type("f32")
PLAIN = Run({}, None, Queues())


def compile_block(region: Region) -> tuple[Block, list[Any]]:
    maker = BlockCompiler(CompiledProgram(Program(())))
    block = maker.block(region, {})
    return block, [None] * maker.slots


def sum_and_one() -> Region:
    block = BodyBuilder.of(F32, F32)
    return block.finish_region(block.op("add", *block.arguments), block.constant(1, F32))


def branching() -> Region:
    """Return a region of |a|, as a branch, which cannot be applied to whole arrays."""
    block = BodyBuilder.of(F32)
    (a,) = block.arguments
    then, otherwise = BodyBuilder((), prefix="t"), BodyBuilder((), prefix="e")
    regions = then.finish_region(then.op("negate", a)), otherwise.finish_region(a)
    negative = block.compare(a, block.constant(0, F32), "LT")
    return block.finish_region(*block.ops("if", (negative,), (a.type,), regions=regions))


def test_elementwise_operations_run_once_for_all_lanes() -> None:
    block, frame = compile_block(sum_and_one())
    assert len(lane_steps(block) or ()) == 2
    x = np.array([[1, 2], [3, 4]], np.float32)
    total, one = evaluate_lanes(block, PLAIN, frame, x, 10 * x)
    assert total.tolist() == [[11, 22], [33, 44]]
    assert one.tolist() == [[1, 1], [1, 1]]


def test_steps_in_lanes_are_made_once() -> None:
    block, _ = compile_block(sum_and_one())
    assert lane_steps(block) is lane_steps(block)


def test_a_branch_is_evaluated_lane_by_lane() -> None:
    block, frame = compile_block(branching())
    assert lane_steps(block) is None
    (found,) = evaluate_lanes(block, PLAIN, frame, np.array([[-1, 2, -3]], np.float32))
    assert found.tolist() == [[1, 2, 3]]


def test_a_region_of_arrays_has_no_lanes() -> None:
    region = sum_and_one()
    vector = replace(region.arguments[0], type=TensorType((2,), F32))
    block, _ = compile_block(Region((vector, vector), (Operation("return", (vector,)),)))
    assert lane_steps(block) is None


def test_equal_lanes_are_evaluated_once_unless_results_are_observed() -> None:
    block, frame = compile_block(branching())
    seen: list[float] = []

    def otherwise(operation: Operation, operands: tuple[Array, ...], _: Any) -> None:
        if operation.name == "compare":
            seen.append(float(operands[0]))

    x = np.array([2, -1, 2, -1, -0.0, 0.0], np.float32)
    (found,) = evaluate_lanes(block, replace(PLAIN, otherwise=otherwise), frame, x)
    assert found.tolist() == [2, 1, 2, 1, 0, 0]
    assert np.signbit(found).tolist() == [False] * 4 + [True, False]
    assert len(seen) == 4
    observed = replace(PLAIN, otherwise=otherwise, on_result=lambda _, results: results)
    evaluate_lanes(block, observed, frame, x)
    assert len(seen) == 4 + 6


def test_no_lanes_give_no_elements() -> None:
    block, frame = compile_block(sum_and_one())
    none = np.zeros((0, 3), np.float32)
    assert [lane.shape for lane in evaluate_lanes(block, PLAIN, frame, none, none)] == [(0, 3)] * 2
