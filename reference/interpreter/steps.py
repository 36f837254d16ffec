"""Steps of operations that an op's own semantics evaluates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from reference.interpreter import quantized
from reference.interpreter.frames import (
    Block,
    Frame,
    Run,
    SlottedOperation,
    Step,
    failing_step,
    store,
)
from reference.interpreter.lanes import evaluate_lanes
from reference.interpreter.loops import loop_in_lanes
from reference.interpreter.verify import explain_failure, given_attributes, stated_results
from reference.ir.errors import EvaluationError, evaluation_error, mismatch, out_of_memory
from reference.ir.op import Structure
from reference.ir.program import Operation, Region, TensorType
from reference.ir.regions import Body
from reference.ops.structure import COMMUNICATION, CONTROL_FLOW, HOST, is_constant
from reference.ops.table import Op

_MISUSE = (ValueError, TypeError, KeyError, AttributeError, IndexError, MemoryError)
"""Exceptions that numpy and Python raise for operations that do not fit their op."""

Compute = Callable[[Run, Frame, list[Any]], tuple[Any, ...]]
"""A function compute(run, frame, operands) that returns the results of an operation."""


def op_step(semantics: Op | None, wired: SlottedOperation, blocks: list[Block]) -> Step:
    """Return the fastest step that can execute an operation."""
    if semantics is None:
        return failing_step(
            wired.operation, f"the reference does not implement {wired.operation.name}"
        )
    if quantized.is_quantized_operation(wired.operation):
        return _quantized_step(semantics, wired, blocks)
    if is_constant(wired.operation):
        return _constant_step(semantics, wired)
    if semantics.structure is Structure.LOOPS:
        return _loop_step(semantics, wired, blocks)
    return _fast_step(semantics, wired) or _general_step(semantics, wired, blocks)


def _loop_step(semantics: Op, wired: SlottedOperation, blocks: list[Block]) -> Step:
    """Return the step of a loop: in lanes if its iterations permit that and are not observed."""
    one_by_one = _general_step(semantics, wired, blocks)
    in_lanes = loop_in_lanes(*blocks) if len(blocks) == 2 else None
    if in_lanes is None:
        return one_by_one
    compute = _compute(semantics, wired.operation, blocks)

    def step(run: Run, frame: Frame) -> None:
        if run.on_result is not None or run.otherwise is not None:
            return one_by_one(run, frame)
        try:
            state, ended = in_lanes.run(run, frame, [frame[at] for at in wired.operand_slots])
        except _MISUSE:  # one by one, the operation at fault is found
            return one_by_one(run, frame)
        results = state if ended else compute(run, frame, state)
        return store(wired.operation, results, wired.result_slots, frame)

    return step


def _evaluation_error(operation: Operation, problem: object) -> EvaluationError:
    if isinstance(problem, MemoryError):
        return out_of_memory(operation, problem)
    return evaluation_error(operation, explain_failure(operation, problem))


def _fast_step(semantics: Op, wired: SlottedOperation) -> Step | None:
    """Return the step of an op on plain arrays, the most common kind; None for other ops."""
    operation = wired.operation
    of = operation.results[0].type if len(operation.results) == 1 else None
    plain = isinstance(of, TensorType) and of.is_static and not semantics.several
    starred = any(name.startswith("*") for name in semantics.operands)
    if (
        not plain
        or starred
        or operation.regions
        or len(wired.operand_slots) != len(semantics.operands)
    ):
        return None
    if operation.name in COMMUNICATION:
        return None
    assert isinstance(of, TensorType)
    keywords = _keywords(semantics, operation)
    evaluate = partial(semantics.evaluate, **keywords) if keywords else semantics.evaluate
    storage, shape, slot, taken = of.storage, of.shape, wired.result_slots[0], wired.operand_slots

    def step(_: Run, frame: Frame) -> None:
        try:
            result = evaluate(*[frame[at] for at in taken])
        except _MISUSE as error:
            raise _evaluation_error(operation, error) from error
        if result.__class__ is not np.ndarray or result.shape != shape or result.dtype != storage:
            raise _evaluation_error(operation, mismatch(result, of))
        frame[slot] = result

    return step


def _constant_step(semantics: Op, wired: SlottedOperation) -> Step:
    """Return the step of a constant; the array is made once and must not be written to."""
    compute, made = _compute(semantics, wired.operation, []), list[Any]()

    def step(run: Run, frame: Frame) -> None:
        if not made:
            made.extend(compute(run, frame, []))
            for array in made:
                array.setflags(write=False)
        store(wired.operation, made, wired.result_slots, frame)

    return step


def _keywords(semantics: Op, operation: Operation) -> dict[str, Any]:
    keywords = given_attributes(operation)
    if semantics.needs_result:
        keywords |= stated_results(semantics, operation)
    return keywords


def _general_step(semantics: Op, wired: SlottedOperation, blocks: list[Block]) -> Step:
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    compute = _compute(semantics, operation, blocks)

    def step(run: Run, frame: Frame) -> None:
        results = compute(run, frame, [frame[at] for at in taken])
        store(operation, results, given, frame)

    return step


def _quantized_step(semantics: Op, wired: SlottedOperation, blocks: list[Block]) -> Step:
    """Return the step of an op with quantized operands or results, which are passed as codes."""
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    compute = _compute(semantics, quantized.plain_operation(operation), blocks)

    def step(run: Run, frame: Frame) -> None:
        operands = [frame[at] for at in taken]
        try:
            results = quantized.evaluate(
                operation, operands, lambda _, arrays: compute(run, frame, arrays)
            )  # fmt: skip
        except EvaluationError:
            raise
        except _MISUSE as error:
            raise _evaluation_error(operation, error) from error
        store(operation, results, given, frame)

    return step


def _compute(semantics: Op, operation: Operation, blocks: list[Block]) -> Compute:
    """Return the function that computes an operation's results and checks their types."""
    keywords, inside = _keywords(semantics, operation), operation.name not in CONTROL_FLOW
    types = [value.type for value in operation.results]

    def compute(run: Run, frame: Frame, operands: list[Any]) -> tuple[Any, ...]:
        given = keywords
        try:
            if blocks:
                deep = run.body_run if inside else run
                given = keywords | semantics.name_regions(
                    [body(block, deep, frame) for block in blocks]
                )
            if operation.name in HOST:
                given = keywords | {"queues": run.queues, "process": run.member.at(operation)}
            if operation.name in COMMUNICATION:
                given = given | {"process": run.member.at(operation)}
            results = semantics.evaluate(*semantics.group_operands(operands), **given)
        except EvaluationError as error:
            raise _locate_error(operation, error) from None
        except _MISUSE as error:
            raise _evaluation_error(operation, error) from error
        results = results if semantics.several else (results,)
        for result, of in zip(results, types, strict=False):
            problem = mismatch(result, of)
            if problem:
                raise _evaluation_error(operation, problem)
        return results

    return compute


def _locate_error(operation: Operation, error: EvaluationError) -> EvaluationError:
    """Add the operation to errors that lack it: errors of queues and of communication."""
    if operation.name in HOST or (operation.name in COMMUNICATION and error.operation is None):
        return evaluation_error(operation, error)
    return error


def body(block: Block, run: Run, frame: Frame) -> Body:
    """Return a block as the function that ops with regions take."""

    def make_sibling(region: Region) -> Body:
        inner, slots = block.compile_sibling(region, len(frame))
        return body(inner, run, [*frame, *[None] * (slots - len(frame))])

    return Body(
        block.region,
        partial(block.run, run, frame),
        partial(evaluate_lanes, block, run, frame),
        make_sibling,
    )
