"""Steps of operations with a callee: functions of the program and custom calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from reference.custom_calls.targets import call_built_in
from reference.interpreter.frames import (
    Block,
    Entry,
    Frame,
    Run,
    SlottedOperation,
    Step,
    failing_step,
    store,
)
from reference.interpreter.processes import Grid, GridProcess, Start
from reference.interpreter.shards import devices_of, join_shards, shards_by_device
from reference.interpreter.steps import body
from reference.ir.errors import EvaluationError, evaluation_error, mismatch
from reference.ir.program import Operation


def call_step(wired: SlottedOperation, entry: Entry) -> Step:
    """Return the step of a function call."""
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    types = [value.type for value in entry.block.region.arguments]

    def step(run: Run, frame: Frame) -> None:
        inputs = [frame[at] for at in taken]
        if len(inputs) != len(types):
            why = f"{entry.name} takes {len(types)} inputs, not {len(inputs)}"
            raise evaluation_error(operation, why)
        for value, of in zip(inputs, types, strict=True):
            problem = mismatch(value, of)
            if problem:
                raise evaluation_error(operation, problem)
        store(operation, entry.call(run, inputs), given, frame)

    return step


def custom_call_step(wired: SlottedOperation, called: tuple[Entry, ...] | EvaluationError) -> Step:
    """Return the step of a custom call: handlers of the evaluation precede built-in targets.

    `called` holds the functions that the operation names, or the reason why they cannot be called.
    Only built-in targets use them; handlers do not.
    """
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    target = str(operation.attribute("call_target_name"))
    types: list[Any] = [value.type for value in operation.results]
    keywords: dict[str, Any] = dict(operation.attributes) | {"results": tuple(types)}

    def built_in(run: Run, inputs: list[Any]) -> tuple[Any, ...]:
        if isinstance(called, EvaluationError):
            raise called
        bodies = tuple([body(entry.block, run.body_run, [None] * entry.slots) for entry in called])
        return call_built_in(target, tuple(inputs), {**keywords, "computations": bodies})

    def results_of(run: Run, inputs: list[Any]) -> tuple[Any, ...]:
        handler = run.custom_calls.get(target)
        try:
            found = handler(*inputs) if handler else built_in(run, inputs)
        except EvaluationError as error:
            raise evaluation_error(operation, error) from None
        single = isinstance(found, np.ndarray | np.generic)
        results = (found,) if single else () if found is None else tuple(found)
        return tuple([np.asarray(r) if isinstance(r, np.generic) else r for r in results])

    def step(run: Run, frame: Frame) -> None:
        results = results_of(run, [frame[at] for at in taken])
        for value, of in zip(results, types, strict=False):
            problem = mismatch(value, of)
            if problem:
                why = f"handler of {target!r}: {problem}"
                raise evaluation_error(operation, why)
        store(operation, results, given, frame)

    return step


RUN_PARALLEL = "interpreter.run_parallel"
"""Prefix of the target, followed by the sizes of the process grid, of calls that run processes."""


def runs_processes(operation: Operation) -> bool:
    """Return whether a custom call runs the functions that it names as processes of a grid."""
    return str(operation.attribute("call_target_name")).startswith(RUN_PARALLEL)


def parallel_step(wired: SlottedOperation, called: tuple[Entry, ...] | EvaluationError) -> Step:
    """Return the step that runs one process per named function.

    Inputs and results are concatenated in process order.
    """
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    if isinstance(called, EvaluationError):
        return failing_step(operation, called)
    sizes = str(operation.attribute("call_target_name")).removeprefix(RUN_PARALLEL).split(" x ")
    shape = (int(sizes[0]), int(sizes[1]))
    counts = [len(entry.block.arguments) for entry in called]
    if sum(counts) != len(taken) or len(called) != shape[0] * shape[1]:
        return failing_step(operation, f"{len(called)} functions of {sum(counts)} inputs in all")

    def step(run: Run, frame: Frame) -> None:
        inputs = iter([frame[at] for at in taken])
        shares = [list(islice(inputs, count)) for count in counts]
        starts = [partial(run_in_process, e, run, s) for e, s in zip(called, shares, strict=True)]
        grid = Grid(shape, same_program=len({id(entry) for entry in called}) == 1)
        results = [result for each in grid.run(starts) for result in each]
        store(operation, results, given, frame)

    return step


def run_in_process(
    entry: Entry, run: Run, inputs: Sequence[Any], member: GridProcess
) -> tuple[Any, ...]:
    """Return the results of a function in a process of a grid, which has its own feeds."""
    return entry.call(
        replace(run, member=member, queues=run.queues.process_queues(member.id)), inputs
    )


def sharding_step(wired: SlottedOperation, blocks: list[Block]) -> Step:
    """Return the step of an operation of Shardy's dialect, which assigns values to devices.

    `sdy.manual_computation` runs its body in one process per device, on that device's shards; all
    other operations are the identity.
    """
    operation, taken, given = wired.operation, wired.operand_slots, wired.result_slots
    mesh: Any = operation.attribute("mesh", ())
    ins: Any = operation.attribute("in_shardings", ())
    outs: Any = operation.attribute("out_shardings", ())

    def results_of(run: Run, frame: Frame, values: list[Any]) -> Sequence[Any]:
        devices = devices_of(mesh)
        if len(devices) == 1:
            return blocks[0].run(run, frame, *values)
        if run.member.grid is not None:
            raise evaluation_error(
                operation, "a manual computation within another is not evaluated"
            )

        def start(shards: list[Any]) -> Start:
            own = [*frame]

            def start_member(member: GridProcess) -> tuple[Any, ...]:
                queues = run.queues.process_queues(member.id)
                return blocks[0].run(replace(run, member=member, queues=queues), own, *shards)

            return start_member

        starts = list(map(start, shards_by_device(values, ins, mesh)))
        ran = Grid((1, len(devices))).run(starts)
        return [
            join_shards(parts, sharding, mesh, devices)
            for parts, sharding in zip(zip(*ran, strict=True), outs, strict=True)
        ]

    def step(run: Run, frame: Frame) -> None:
        values = [frame[at] for at in taken]
        results = results_of(run, frame, values) if blocks else values[: len(given)]
        for value, slot in zip(results, operation.results, strict=False):
            problem = mismatch(value, slot.type)
            if problem:
                raise evaluation_error(operation, problem)
        store(operation, results, given, frame)

    return step
