"""Regions of scalars applied to whole arrays, with one element per lane.

The body of a reduction or the comparator of a sort thus costs a few array operations, regardless of
the number of elements. This requires that all its operations work element by element; other regions
are evaluated lane by lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from reference.interpreter import quantized
from reference.interpreter.frames import Block, Frame, LaneStep, Run, SlottedOperation
from reference.interpreter.verify import given_attributes
from reference.ir.program import Operation, TensorType
from reference.ir.types import Array
from reference.ops.table import OPS, Op


def evaluate_lanes(block: Block, run: Run, frame: Frame, *inputs: Array) -> tuple[Array, ...]:
    """Return the results for many lanes at once: see `reference.ir.regions.Body`.

    The dimensions of non-scalar results follow the lanes' dimensions.
    """
    steps = lane_steps(block) if run.otherwise is None else None
    if steps is None or not inputs[0].size:
        return _evaluate_each_lane(block, run, frame, inputs)
    return _run_lane_steps(block, steps, inputs[0].shape, frame, inputs)


def _run_lane_steps(
    block: Block,
    steps: Sequence[LaneStep],
    lanes: tuple[int, ...],
    frame: Frame,
    inputs: Sequence[Array],
) -> tuple[Array, ...]:
    for slot, array in zip(block.arguments, inputs, strict=True):
        frame[slot] = array
    for step in steps:
        step(lanes, frame)
    return tuple([_broadcast_to_lanes(frame[slot], lanes) for slot in block.returned])


def _evaluate_each_lane(
    block: Block, run: Run, frame: Frame, inputs: Sequence[Array]
) -> tuple[Array, ...]:
    types = [value.type for value in block.region.operations[-1].operands]
    lanes = inputs[0].shape
    tensors = [of for of in types if isinstance(of, TensorType)]
    flat = [array.reshape(-1) for array in inputs]
    chosen, number = _distinct_lanes(flat) if run.on_result is None else (range(flat[0].size), None)
    gathered = [np.empty((len(chosen), *of.static_shape), of.storage) for of in tensors]
    for slot, lane in enumerate(chosen):
        results = block.run(run, frame, *(np.asarray(array[lane]) for array in flat))
        for array, result in zip(gathered, results, strict=True):
            array[slot] = result
    each = gathered if number is None else [array[number] for array in gathered]
    return tuple(
        array.reshape(lanes + of.static_shape) for array, of in zip(each, tensors, strict=True)
    )


def _distinct_lanes(inputs: Sequence[Array]) -> tuple[Sequence[int], Array]:
    """Return the first lane of each group with equal arguments (bit for bit), and each lane's
    group.

    Lanes are many, and special values are few.
    """
    columns = [
        np.ascontiguousarray(array).view(np.uint8).reshape(array.size, array.dtype.itemsize)
        for array in inputs
    ]
    rows = np.concatenate(columns, axis=1)
    _, first, number = np.unique(
        rows.view(f"V{rows.shape[1]}").reshape(-1), return_index=True, return_inverse=True
    )
    return first.tolist(), number.reshape(-1)


def lane_steps(block: Block) -> tuple[LaneStep, ...] | None:
    """Return a block's steps in lanes; None unless all operations are elementwise on scalars."""
    if not block.lanes:
        block.lanes.append(_lane_steps(block))
    return block.lanes[0]


def _lane_steps(block: Block) -> tuple[LaneStep, ...] | None:
    results = [value for one in block.wired for value in one.operation.results]
    types = [value.type for value in (*block.region.arguments, *results)]
    if not all(isinstance(of, TensorType) and of.shape == () for of in types):
        return None
    steps: list[LaneStep] = []
    for one in block.wired:
        if one.operation.name not in OPS or not _lifts_scalars(one.operation):
            return None
        steps.append(_lane_step(OPS[one.operation.name], one))
    return tuple(steps)


def _lifts_scalars(operation: Operation) -> bool:
    """Return whether an operation on scalars may be applied to arrays.

    It may, unless a bitcast changes the width.
    """
    semantics = OPS[operation.name]
    is_bitcast = semantics.is_bitcast and not quantized.is_quantized_operation(operation)
    return semantics.lifts or is_bitcast


def _lane_step(semantics: Op, wired: SlottedOperation) -> LaneStep:
    operation, taken, slot = wired.operation, wired.operand_slots, wired.result_slots[0]
    plain = (
        quantized.plain_operation(operation)
        if quantized.is_quantized_operation(operation)
        else operation
    )
    evaluate = partial(semantics.evaluate, **given_attributes(plain))
    of = plain.results[0].type
    assert isinstance(of, TensorType)

    def apply(lanes: tuple[int, ...], operands: list[Any]) -> Array:
        if semantics.needs_result:
            return evaluate(*operands, result=TensorType(lanes, of.element_type))
        return evaluate(*operands)

    def step(lanes: tuple[int, ...], frame: Frame) -> None:
        frame[slot] = apply(lanes, [_broadcast_to_lanes(frame[at], lanes) for at in taken])

    def step_on_codes(lanes: tuple[int, ...], frame: Frame) -> None:
        operands = [_broadcast_to_lanes(frame[at], lanes) for at in taken]
        results = quantized.evaluate(
            operation, operands, lambda _, arrays: (apply(lanes, arrays),)
        )  # fmt: skip
        frame[slot] = results[0]

    return step if plain is operation else step_on_codes


def _broadcast_to_lanes(array: Array, lanes: tuple[int, ...]) -> Array:
    """Return a value for every lane, repeated if it is the same in all."""
    return array if array.shape == lanes else np.full(lanes, array)
