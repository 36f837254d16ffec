"""Evaluation of programs on numpy arrays, and checks against the ops' constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from reference.interpreter.calls import run_in_process
from reference.interpreter.compile import BlockCompiler, CompiledProgram
from reference.interpreter.frames import CustomCall, OnResult, OverrideResults, Run
from reference.interpreter.processes import Grid
from reference.interpreter.steps import body
from reference.interpreter.verify import check, given_attributes, violations
from reference.ir.errors import EvaluationError, describe_operation, mismatch
from reference.ir.processes import ProcessId
from reference.ir.program import Function, Operation, Program, Region, TensorType
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.ops.host import Channel, Queues

__all__ = [
    "CustomCall", "EvaluationError", "OnResult", "apply", "body_of", "check", "describe_operation",
    "evaluate", "given_attributes", "mismatch", "reshape_operation", "split_by_process",
    "violations",
]  # fmt: skip

T = TypeVar("T")

CACHE_SIZE = 32
"""Number of programs that stay compiled; the least recently used program is dropped first."""

_cache: dict[int, CompiledProgram] = {}


def evaluate(
    program: Program,
    inputs: Sequence[Array],
    *,
    custom_calls: Mapping[str, CustomCall] | None = None,
    on_result: OnResult | None = None,
    infeeds: Iterable[Sequence[Array]]
    | Mapping[ProcessId, Iterable[Sequence[Array]]]
    | None = None,
    outfeed: (
        MutableSequence[tuple[Array, ...]]
        | MutableMapping[ProcessId, MutableSequence[tuple[Array, ...]]]
        | None
    ) = None,
    channels: MutableMapping[int, Channel] | None = None,
) -> tuple[Array, ...]:
    """Return the results of main on `inputs`, arrays of the storage types of its parameters.

    A program of several processes takes and returns one flat list: the values of each process, in
    the order of flattened ids.

    Args:
        program: the program to evaluate.
        inputs: one array per parameter of main, of its shape and storage type.
        custom_calls: handlers of `custom_call`, by `call_target_name`: functions from arrays to an
            array or to a sequence of arrays. They precede those of reference.custom_calls.targets.
        on_result: called after each operation with the operation and its results; its return value
            replaces the results. Bodies of reductions, sorts and the like are part of their op, so
            it is not called for operations in them; it is called for those in branches and loops.
        infeeds: the values that `infeed` reads, a sequence of arrays per execution; by default, the
            values that `outfeed` wrote.
        outfeed: receives what `outfeed` writes, a tuple of arrays per execution.
        channels: queues by `channel_id`: `send` appends a tuple of arrays on the right, `recv`
            removes one from the left. A missing channel starts empty and is added.

    With several processes, each may have its own infeed and outfeed, given as mappings by process
    id. Channels to the host are shared by all processes.

    Raises:
        EvaluationError: if inputs do not fit main, an op or function is unknown, a function calls
            itself, a result does not have the stated type, a queue is empty or holds values of
            other types, or processes deadlock.
    """
    try:
        main = program.main
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    if program.process_count < 1:
        grid = program.process_grid
        raise EvaluationError(f"process_grid must be two positive numbers, not {grid}")
    shares = split_by_process(program, inputs)
    for share in shares:
        _check_inputs(main, share)
    entry = _compile(program).entry(main.name)
    queues = Queues(_feed_iterators(infeeds), outfeed, {} if channels is None else channels)
    run = Run(custom_calls or {}, on_result, queues)
    with np.errstate(all="ignore"):
        if program.process_grid in (None, (1, 1)):
            return entry.call(run, inputs)
        grid = Grid(program.process_grid)
        return tuple(
            chain.from_iterable(
                grid.run([partial(run_in_process, entry, run, share) for share in shares])
            )
        )


def _feed_iterators(
    infeeds: Iterable[Sequence[Array]] | Mapping[ProcessId, Iterable[Sequence[Array]]] | None,
) -> Iterator[Sequence[Array]] | Mapping[ProcessId, Iterator[Sequence[Array]]] | None:
    if isinstance(infeeds, Mapping):
        by_process: Mapping[ProcessId, Iterable[Sequence[Array]]] = infeeds  # type: ignore[assignment]
        return {process: iter(given) for process, given in by_process.items()}
    return None if infeeds is None else iter(infeeds)


def split_by_process(program: Program, values: Sequence[T]) -> list[Sequence[T]]:
    """Split inputs or results of a program, a flat list, by process.

    Raises:
        EvaluationError: if their number is not a multiple of the number of processes.
    """
    count = program.process_count
    if len(values) % count:
        raise EvaluationError(f"{len(values)} values for {count} processes")
    each = len(values) // count
    return [values[number * each : (number + 1) * each] for number in range(count)]


def _compile(program: Program) -> CompiledProgram:
    """Return the compiled program, cached by identity because equal programs rarely recur."""
    found = _cache.pop(id(program), None)
    if found is None or found.program is not program or not found.is_current:
        found = CompiledProgram(program)
    _cache[id(program)] = found
    while len(_cache) > CACHE_SIZE:
        del _cache[next(iter(_cache))]
    return found


def apply(
    operation: Operation,
    operands: Sequence[Any],
    values: Mapping[str, Any] | None = None,
    program: Program | None = None,
    otherwise: OverrideResults | None = None,
) -> tuple[Any, ...]:
    """Return the results of one operation on these operands; their names and shapes are ignored.

    Args:
        operation: the operation to evaluate; it must state the types of these results (see
            `reshape_operation`).
        operands: one value per operand; codes for quantized operands.
        values: outer values that its regions use, by name.
        program: the functions that it calls, if any.
        otherwise: overrides the results of operations in its regions.

    Raises:
        EvaluationError: as `evaluate` does.
    """
    around = dict(values or {})
    slots = len(around) + len(operands)
    maker = BlockCompiler(CompiledProgram(program or Program(())), slots)
    scope = {name: slot for slot, name in enumerate(around)}
    one, step = maker.step(operation, tuple(range(len(around), slots)), scope)
    frame = [*around.values(), *operands, *[None] * (maker.slots - slots)]
    with np.errstate(all="ignore"):
        step(Run({}, None, Queues(), otherwise=otherwise), frame)
    return tuple([frame[slot] for slot in one.result_slots])


def reshape_operation(operation: Operation, shape: tuple[int, ...]) -> Operation:
    """Return an elementwise operation on operands of another shape, for example scalars."""
    results = tuple(
        replace(value, type=replace(value.type, shape=shape))
        for value in operation.results
        if isinstance(value.type, TensorType)
    )
    return replace(operation, results=results)


def body_of(region: Region, values: Mapping[str, Any] | None = None) -> Body:
    """Return a region as a function of arrays, given the outer values that it uses."""
    around = dict(values or {})
    maker = BlockCompiler(CompiledProgram(Program(())), len(around))
    block = maker.block(region, {name: slot for slot, name in enumerate(around)})
    frame = [*around.values(), *[None] * (maker.slots - len(around))]
    return body(block, Run({}, None, Queues()), frame)


def _check_inputs(main: Function, inputs: Sequence[Any]) -> None:
    if len(inputs) != len(main.arguments):
        raise EvaluationError(f"{main.name} takes {len(main.arguments)} inputs, not {len(inputs)}")
    for index, (given, parameter) in enumerate(zip(inputs, main.arguments, strict=True)):
        problem = mismatch(given, parameter.type)
        if problem:
            raise EvaluationError(f"input {index} of {main.name} (%{parameter.name}): {problem}")
