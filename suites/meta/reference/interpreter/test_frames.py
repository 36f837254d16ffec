"""Frames: steps run in order, results are stored in slots, values are freed after last use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reference.interpreter.frames import (
    Block,
    Entry,
    Frame,
    Run,
    SlottedOperation,
    failing_step,
    store,
)
from reference.ir.errors import EvaluationError, OutOfMemoryError
from reference.ir.program import Operation, Region
from reference.ops.host import Queues

DOUBLE, NEGATE = Operation("double", (), ()), Operation("negate", (), ())
WIRED = (SlottedOperation(DOUBLE, (0,), (1,)), SlottedOperation(NEGATE, (1,), (2,)))
PLAIN = Run({}, None, Queues())


def double_slot(_: Run, frame: Frame) -> None:
    frame[1] = 2 * frame[0]


def negate(_: Run, frame: Frame) -> None:
    frame[2] = -frame[1]


def block(last: tuple[tuple[int, ...], ...] = ()) -> Block:
    """Return a block of two operations: -(2 x), with x in slot 0."""

    def fail_if_called(region: Region, slots: int) -> tuple[Block, int]:
        raise AssertionError((region, slots))

    return Block(Region((), ()), fail_if_called, (0,), WIRED, (double_slot, negate), (2,), last)


def test_steps_run_in_order_in_a_frame_of_the_call() -> None:
    entry = Entry("main", block(), 3)
    assert entry.call(PLAIN, [4]) == (-8,)
    assert entry.call(PLAIN, [5]) == (-10,)


def test_values_are_freed_after_their_last_use() -> None:
    frame: Frame = [None] * 3
    assert block(((0,), (1,))).run(PLAIN, frame, 4) == (-8,)
    assert frame == [None, None, -8]
    kept: Frame = [None] * 3
    block().run(PLAIN, kept, 4)
    assert kept == [4, 8, -8]


@pytest.mark.parametrize("last", [(), ((0,), (1,))])
def test_an_observer_sees_and_replaces_every_result(last: tuple[tuple[int, ...], ...]) -> None:
    seen: list[tuple[str, tuple[Any, ...]]] = []

    def observe(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        seen.append((operation.name, results))
        return (results[0] + 1,)

    assert block(last).run(replace(PLAIN, on_result=observe), [None] * 3, 4) == (-8,)
    assert seen == [("double", (8,)), ("negate", (-9,))]


def test_results_are_overridden_with_their_operands_in_view() -> None:
    def override_results(
        operation: Operation, operands: tuple[Any, ...], results: tuple[Any, ...]
    ) -> tuple[Any, ...] | None:
        return (operands[0] + results[0],) if operation is DOUBLE else None

    assert block().run(replace(PLAIN, otherwise=override_results), [None] * 3, 4) == (-12,)


def test_bodies_of_ops_are_not_observed() -> None:
    def fail_if_called(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        raise AssertionError((operation, results))

    observed = replace(PLAIN, on_result=fail_if_called)
    assert block().run(observed.body_run, [None] * 3, 4) == (-8,)
    assert PLAIN.body_run is PLAIN


def test_wrong_numbers_of_values_are_errors() -> None:
    with pytest.raises(EvaluationError, match="a block takes 1 arguments, not 2"):
        block().run(PLAIN, [None] * 3, 4, 5)
    with pytest.raises(EvaluationError, match=r"gives 2 results \(.*double"):
        store(DOUBLE, (1, 2), (1,), [None] * 3)
    frame: Frame = [None] * 3
    store(DOUBLE, (7,), (1,), frame)
    assert frame == [None, 7, None]


def test_out_of_memory_names_the_operation() -> None:
    def raise_memory_error(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        raise MemoryError(operation, results)

    with pytest.raises(OutOfMemoryError, match=r"out of memory.*\(double"):
        block().run(replace(PLAIN, on_result=raise_memory_error), [None] * 3, 4)


def test_a_failing_step_says_why() -> None:
    with pytest.raises(EvaluationError, match=r"no such thing \(.*double"):
        failing_step(DOUBLE, "no such thing")(PLAIN, [])
