"""The steps of operations that call what is named: functions of the program, custom calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.custom_calls.targets import call_built_in
from reference.interpreter.frames import Block, Entry, Frame, Run, Step, Wired, store
from reference.interpreter.steps import body
from reference.ir.errors import EvaluationError, failure, mismatch


def call_step(wired: Wired, entry: Entry) -> Step:
    """The step of a call of a function."""
    operation, taken, given = wired.operation, wired.taken, wired.given
    types = [value.type for value in entry.block.region.arguments]

    def step(run: Run, frame: Frame) -> None:
        inputs = [frame[at] for at in taken]
        if len(inputs) != len(types):
            why = f"{entry.name} takes {len(types)} inputs, not {len(inputs)}"
            raise failure(operation, why)
        for value, of in zip(inputs, types, strict=True):
            problem = mismatch(value, of)
            if problem:
                raise failure(operation, problem)
        store(operation, entry.call(run, inputs), given, frame)

    return step


def custom_call_step(wired: Wired, called: tuple[Entry, ...] | EvaluationError) -> Step:
    """The step of a call by target: a handler of the evaluation goes before what is built in.

    `called` are the functions that it names, or why they cannot be called, which is no concern of
    a handler: only what is built in takes them.
    """
    operation, taken, given = wired.operation, wired.taken, wired.given
    target = str(operation.attribute("call_target_name"))
    types: list[Any] = [value.type for value in operation.results]
    keywords: dict[str, Any] = dict(operation.attributes) | {"results": tuple(types)}

    def built_in(run: Run, inputs: list[Any]) -> tuple[Any, ...]:
        if isinstance(called, EvaluationError):
            raise called
        bodies = tuple([body(entry.block, run.inside, [None] * entry.places) for entry in called])
        return call_built_in(target, tuple(inputs), {**keywords, "computations": bodies})

    def results_of(run: Run, inputs: list[Any]) -> tuple[Any, ...]:
        handler = run.custom_calls.get(target)
        try:
            found = handler(*inputs) if handler else built_in(run, inputs)
        except EvaluationError as error:
            raise failure(operation, error) from None
        single = isinstance(found, np.ndarray | np.generic)
        results = (found,) if single else () if found is None else tuple(found)
        return tuple([np.asarray(r) if isinstance(r, np.generic) else r for r in results])

    def step(run: Run, frame: Frame) -> None:
        results = results_of(run, [frame[at] for at in taken])
        for value, of in zip(results, types, strict=False):
            problem = mismatch(value, of)
            if problem:
                why = f"handler of {target!r}: {problem}"
                raise failure(operation, why)
        store(operation, results, given, frame)

    return step


def sharding_step(wired: Wired, blocks: list[Block]) -> Step:
    """The step of an operation of Shardy's dialect, which says what lies on which process.

    On one process a shard is the whole: `sdy.manual_computation` is its body, all else identity.
    """
    operation, taken, given = wired.operation, wired.taken, wired.given

    def step(run: Run, frame: Frame) -> None:
        values = tuple([frame[at] for at in taken])
        results = blocks[0].run(run, frame, *values) if blocks else values[: len(given)]
        for value, place in zip(results, operation.results, strict=False):
            problem = mismatch(value, place.type)
            if problem:
                raise failure(operation, f"on one process {problem}")
        store(operation, results, given, frame)

    return step
