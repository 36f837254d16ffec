"""Evaluating programs on numpy arrays, and checking them against the ops' constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from reference.interpreter.calls import in_process
from reference.interpreter.compile import Compiled, Maker
from reference.interpreter.frames import CustomCall, OnResult, Otherwise, Run
from reference.interpreter.processes import Grid
from reference.interpreter.steps import body
from reference.interpreter.verify import check, given_attributes, violations
from reference.ir.errors import EvaluationError, described, mismatch
from reference.ir.processes import ProcessId
from reference.ir.program import Function, Operation, Program, Region, TensorType
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.ops.host import Channel, Queues

__all__ = [
    "CustomCall", "EvaluationError", "OnResult", "apply", "body_of", "check", "described",
    "evaluate", "given_attributes", "mismatch", "of_shape", "shared_out", "violations",
]  # fmt: skip

T = TypeVar("T")

KEPT = 32
"""How many programs stay compiled, the ones used last."""

_compiled: dict[int, Compiled] = {}


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
    """The results of main on `inputs`, arrays of the storage types of its parameters.

    A program of several processes takes the inputs of each in turn, in the order of their
    flattened ids, and gives the results of each in turn.

    Args:
        program: what to evaluate.
        inputs: one array per parameter of main, of its shape and storage type.
        custom_calls: for `custom_call`, by `call_target_name`: a function from arrays to an array
            or to a sequence of arrays. They go before those that reference.custom_calls.targets
            knows.
        on_result: called after each operation with the operation and its results; what it returns
            takes their place. Bodies of reductions, sorts and the like are part of their op: it
            is not called for the operations in them, but for those of branches and loops.
        infeeds: what `infeed` reads, a sequence of arrays at each execution; without it, what
            `outfeed` has written comes back.
        outfeed: what `outfeed` writes is appended here, a tuple of arrays at each execution.
        channels: by `channel_id` a queue: `send` appends a tuple of arrays on the right, `recv`
            takes one from the left. A channel that is not in it begins empty, and is put in.

    Of several processes each may have an infeed and an outfeed of its own: they are then given in
    mappings by process id. Channels to the host are the same for all.

    Raises:
        EvaluationError: inputs that are not what main takes, an op or function that is not
            known, a function that calls itself, a result that is not of the stated type, a queue
            that is empty or holds something else, processes that wait for one another for ever.
    """
    try:
        main = program.main
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    if program.process_count < 1:
        grid = program.process_grid
        raise EvaluationError(f"process_grid must be two positive numbers, not {grid}")
    shares = shared_out(program, inputs)
    for share in shares:
        _check_inputs(main, share)
    entry = _compile(program).entry(main.name)
    queues = Queues(_iterated(infeeds), outfeed, {} if channels is None else channels)
    run = Run(custom_calls or {}, on_result, queues)
    with np.errstate(all="ignore"):
        if program.process_grid in (None, (1, 1)):
            return entry.call(run, inputs)
        grid = Grid(program.process_grid)
        return tuple(
            chain.from_iterable(
                grid.run([partial(in_process, entry, run, share) for share in shares])
            )
        )


def _iterated(
    infeeds: Iterable[Sequence[Array]] | Mapping[ProcessId, Iterable[Sequence[Array]]] | None,
) -> Iterator[Sequence[Array]] | Mapping[ProcessId, Iterator[Sequence[Array]]] | None:
    if isinstance(infeeds, Mapping):
        by_process: Mapping[ProcessId, Iterable[Sequence[Array]]] = infeeds  # type: ignore[assignment]
        return {process: iter(given) for process, given in by_process.items()}
    return None if infeeds is None else iter(infeeds)


def shared_out(program: Program, values: Sequence[T]) -> list[Sequence[T]]:
    """Inputs or results of a program, which are those of each process in turn, by process.

    Raises:
        EvaluationError: when they are not as many for each.
    """
    count = program.process_count
    if len(values) % count:
        raise EvaluationError(f"{len(values)} values for {count} processes")
    each = len(values) // count
    return [values[number * each : (number + 1) * each] for number in range(count)]


def _compile(program: Program) -> Compiled:
    """The program compiled, kept for the next time; by identity, as equal ones are rarely met."""
    found = _compiled.pop(id(program), None)
    if found is None or found.program is not program or not found.is_current:
        found = Compiled(program)
    _compiled[id(program)] = found
    while len(_compiled) > KEPT:
        del _compiled[next(iter(_compiled))]
    return found


def apply(
    operation: Operation,
    operands: Sequence[Any],
    values: Mapping[str, Any] | None = None,
    program: Program | None = None,
    otherwise: Otherwise | None = None,
) -> tuple[Any, ...]:
    """The results of one operation on these operands, whatever its own operands' names and shapes.

    Args:
        operation: what to evaluate; its results must come out of the types that it states
            (see `of_shape`).
        operands: one value per operand. Quantized ones are codes, as the operation says.
        values: the values around it that its regions use, by name.
        program: the functions that it calls, where it calls any.
        otherwise: computes operations in its regions otherwise.

    Raises:
        EvaluationError: as `evaluate` does.
    """
    around = dict(values or {})
    places = len(around) + len(operands)
    maker = Maker(Compiled(program or Program(())), places)
    scope = {name: place for place, name in enumerate(around)}
    one, step = maker.step(operation, tuple(range(len(around), places)), scope)
    frame = [*around.values(), *operands, *[None] * (maker.places - places)]
    with np.errstate(all="ignore"):
        step(Run({}, None, Queues(), otherwise=otherwise), frame)
    return tuple([frame[place] for place in one.given])


def of_shape(operation: Operation, shape: tuple[int, ...]) -> Operation:
    """An elementwise operation as one on operands of another shape, scalars for instance."""
    results = tuple(
        replace(value, type=replace(value.type, shape=shape))
        for value in operation.results
        if isinstance(value.type, TensorType)
    )
    return replace(operation, results=results)


def body_of(region: Region, values: Mapping[str, Any] | None = None) -> Body:
    """A region as a function of arrays, given the values around it that it names."""
    around = dict(values or {})
    maker = Maker(Compiled(Program(())), len(around))
    block = maker.block(region, {name: place for place, name in enumerate(around)})
    frame = [*around.values(), *[None] * (maker.places - len(around))]
    return body(block, Run({}, None, Queues()), frame)


def _check_inputs(main: Function, inputs: Sequence[Any]) -> None:
    if len(inputs) != len(main.arguments):
        raise EvaluationError(f"{main.name} takes {len(main.arguments)} inputs, not {len(inputs)}")
    for number, (given, parameter) in enumerate(zip(inputs, main.arguments, strict=True)):
        problem = mismatch(given, parameter.type)
        if problem:
            raise EvaluationError(f"input {number} of {main.name} (%{parameter.name}): {problem}")
