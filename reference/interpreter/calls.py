"""The steps of operations that call what is named: functions of the program, custom calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference.custom_calls.targets import call_built_in
from reference.interpreter.frames import Block, Entry, Frame, Run, Step, Wired, store
from reference.ir.errors import EvaluationError, failure, mismatch
from reference.ir.program import Program

CALLEE = {"call": "callee", "composite": "decomposition", "func.call": "callee"}
"""The attribute that names the function which an operation is a call of."""


def call_step(one: Wired, entry: Entry) -> Step:
    """The step of a call of a function."""
    operation, taken, given = one.operation, one.taken, one.given
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


def custom_call_step(one: Wired, program: Program) -> Step:
    """The step of a call by target: a handler of the evaluation goes before what is built in."""
    operation, taken, given = one.operation, one.taken, one.given
    target = str(operation.attribute("call_target_name"))
    types: list[Any] = [value.type for value in operation.results]
    keywords: dict[str, Any] = dict(operation.attributes) | {"results": tuple(types)}
    named = {function.name: function.body for function in program.functions}
    computations = [named.get(name) for name in keywords.get("called_computations", ())]
    if computations and None not in computations:
        keywords["computations"] = tuple(computations)

    def results_of(run: Run, inputs: list[Any]) -> tuple[Any, ...]:
        handler = run.custom_calls.get(target)
        try:
            found = handler(*inputs) if handler else call_built_in(target, tuple(inputs), keywords)
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


def sharding_step(one: Wired, blocks: list[Block]) -> Step:
    """The step of an operation of Shardy's dialect, which says what lies on which process.

    On one process a shard is the whole: `sdy.manual_computation` is its body, all else identity.
    """
    operation, taken, given = one.operation, one.taken, one.given

    def step(run: Run, frame: Frame) -> None:
        values = tuple([frame[at] for at in taken])
        results = blocks[0].run(run, frame, *values) if blocks else values[: len(given)]
        for value, place in zip(results, operation.results, strict=False):
            problem = mismatch(value, place.type)
            if problem:
                raise failure(operation, f"on one process {problem}")
        store(operation, results, given, frame)

    return step
