"""Evaluating programs on numpy arrays, and checking them against the ops' constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reference.interpreter.compile import Compiled, Maker
from reference.interpreter.frames import CustomCall, OnResult, Run
from reference.interpreter.steps import body
from reference.interpreter.verify import check, given_attributes, violations
from reference.ir.errors import EvaluationError, described, mismatch
from reference.ir.program import Function, Operation, Program, Region, TensorType
from reference.ir.regions import Body
from reference.ir.types import Array
from reference.ops.host import Channel, Queues

__all__ = [
    "CustomCall", "EvaluationError", "OnResult", "apply", "body_of", "check", "described",
    "evaluate", "given_attributes", "mismatch", "of_shape", "violations",
]  # fmt: skip

KEPT = 32
"""How many programs stay compiled, the ones used last."""

_compiled: dict[int, Compiled] = {}


def evaluate(
    program: Program,
    inputs: Sequence[Array],
    *,
    process_grid: tuple[int, int] = (1, 1),
    custom_calls: Mapping[str, CustomCall] | None = None,
    on_result: OnResult | None = None,
    infeeds: Iterable[Sequence[Array]] | None = None,
    outfeed: MutableSequence[tuple[Array, ...]] | None = None,
    channels: MutableMapping[int, Channel] | None = None,
) -> tuple[Array, ...]:
    """The results of main on `inputs`, arrays of the storage types of its parameters.

    Args:
        program: what to evaluate.
        inputs: one array per parameter of main, of its shape and storage type.
        process_grid: numbers of replicas and of partitions. Every process evaluates the same
            program on the same inputs; ops that do not communicate do not depend on the grid.
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

    Raises:
        EvaluationError: inputs that are not what main takes, an op or function that is not
            known, a function that calls itself, a result that is not of the stated type, a queue
            that is empty or holds something else.
    """
    if len(process_grid) != 2 or min(process_grid) < 1:
        raise EvaluationError(f"process_grid must be two positive numbers, not {process_grid}")
    try:
        main = program.main
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    _check_inputs(main, inputs)
    entry = _compile(program).entry(main.name)
    given = None if infeeds is None else iter(infeeds)
    queues = Queues(given, outfeed, {} if channels is None else channels)
    with np.errstate(all="ignore"):
        return entry.call(Run(custom_calls or {}, on_result, queues), inputs)


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
) -> tuple[Any, ...]:
    """The results of one operation on these operands, whatever its own operands' names and shapes.

    Args:
        operation: what to evaluate; its results must come out of the types that it states
            (see `of_shape`).
        operands: one value per operand. Quantized ones are codes, as the operation says.
        values: the values around it that its regions use, by name.
        program: the functions that it calls, where it calls any.

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
        step(Run({}, None, Queues()), frame)
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
