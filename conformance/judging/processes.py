"""Programs of several processes, judged result by result as programs of one process.

What a collective that folds gives in a process is a reduction of what the group's processes have
given, without an init value; everything else is data. Of one in a branch or a loop that is what it
gave the last time, in those processes that came to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conformance.known.xla.extrema import acting
from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import with_operation
from generators.regions.bodies import identity_of, number_of
from reference.interpreter.evaluate import body_of, evaluate, given_attributes
from reference.interpreter.inlining import inline_calls
from reference.interpreter.processes import current_process, last_process
from reference.ir.monoid import ADD, Monoid
from reference.ir.processes import Process, ProcessId, processes
from reference.ir.program import (
    Attribute,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.types import BOOLEAN, Array, element_type_of
from reference.numerics.alike import equal_elements
from reference.numerics.monoids import can_fold
from reference.ops.distribution.distribution import Contributions, contributions
from reference.ops.folds.folding import components
from reference.ops.table import OPS

_FLAG = TensorType((), BOOLEAN[0])


@dataclass(frozen=True, slots=True)
class Part:
    """A result of a process as the first result of a program of one process.

    Where `is_data` it folds nothing, and has no rounding errors.
    """

    program: Program
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    is_data: bool = False


def parts_of(
    program: Program, inputs: Sequence[Array], expected: Sequence[Array], actual: Sequence[Array]
) -> Iterator[Part]:
    """The results of every process in turn, each as that of a program of one process."""
    several = collectives_of(program)
    if not _are_folded(program, several):
        yield from (_data(want, got) for want, got in zip(expected, actual, strict=True))
        return
    folded = [_folded(program, inputs, one) for one in several]
    bodies = [inline_calls(one, program).regions[0] for one in several]
    parts = (
        (values, body)
        for process in zip(*folded, strict=True)
        for given, body in zip(process, bodies, strict=True)
        for values in given
    )
    for (values, body), want, got in zip(parts, expected, actual, strict=True):
        if values is None:
            yield _data(want, got)
        else:
            yield _reduction(np.stack(values), body, want, got)


def _are_folded(program: Program, several: Sequence[Operation]) -> bool:
    """Whether a program's results are those of these collectives, or of what holds them, and fold.

    They are the last results of what holds them.
    """
    made = tuple(value for one in several for value in one.results)
    ends = program.main.body.operations[-1].operands
    held = program.subject.results[-len(made) :] if made else ()
    return bool(made) and all(one.regions for one in several) and ends in (made, held)


def _folded(program: Program, inputs: Sequence[Array], one: Operation) -> list[list[Contributions]]:
    """Return, for each process, what a collective folds to make each of its results there.

    It is None of each result in processes that do not come to it.
    """
    grid = program.process_grid or (1, 1)
    given = _given(program, inputs, one)

    def take(wanted: Sequence[ProcessId]) -> list[Any]:
        return [given[process] for process in wanted]

    return [
        contributions(
            one, given[process], Process(process, grid, lambda _: None, take, lambda _: None),
            given_attributes(one),
        )
        if process in given
        else [None] * len(one.results)
        for process in processes(grid)
    ]  # fmt: skip


def _given(program: Program, inputs: Sequence[Array], one: Operation) -> dict[ProcessId, Any]:
    """The operands of an operation, grouped, in the processes that come to it: the last time."""
    values = tuple(replace(value, name=f"{value.name} taken") for value in one.operands)
    barrier = Operation("optimization_barrier", one.operands, values)
    given: dict[ProcessId, Any] = {}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation is barrier:
            given[current_process()] = OPS[one.name].group_operands(results)[0]
        return results

    watched = with_operation(program, one, barrier, replace(one, operands=values))
    evaluate(watched, inputs, on_result=keep)
    return given


def folded_here(
    operation: Operation, operands: Sequence[Any], results: Sequence[Array]
) -> list[Part | None]:
    """What each result of the collective evaluated last folds in the process it is evaluated in.

    None for results that are data.
    """
    here = last_process()
    given = OPS[operation.name].group_operands(operands)[0] if operands else ()
    values = contributions(operation, given, here, given_attributes(operation))
    return [
        None if one is None else _reduction(np.stack(one), operation.regions[0], result, result)
        for one, result in zip(values, results, strict=True)
    ]


def _type(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


def _data(expected: Array, actual: Array) -> Part:
    value = Value("data", _type(expected))
    program = single_op("optimization_barrier", (value,), (_type(expected),))
    return Part(program, (expected,), (expected,), (actual,), is_data=True)


def _reduction(stacked: Array, computation: Region, expected: Array, actual: Array) -> Part:
    """A reduction along the first dimension with an init value that changes nothing."""
    (monoid,) = components(computation)
    element = element_type_of(stacked)
    monoid = monoid or _acting_on(stacked, computation)
    if monoid is None or not can_fold(monoid, element):
        return _flagged(stacked, computation, expected, actual)
    identity = (
        -0.0 if monoid is ADD and not element.is_integer else identity_of(monoid.name, element)
    )
    inputs = (stacked, number_of(identity, element))
    program = _reduce(inputs, (expected,), computation)
    return Part(program, inputs, (expected,), (actual,))


def _acting_on(stacked: Array, computation: Region) -> Monoid | None:
    """Return the extremum that a computation amounts to, whose identity changes no value there is.

    None where it amounts to none.
    """
    element = element_type_of(stacked)
    monoid = acting(computation) if element.is_float else None
    if monoid is None or monoid is ADD or not can_fold(monoid, element):
        return None
    identity = np.full(stacked.size, number_of(identity_of(monoid.name, element), element))
    values = np.ascontiguousarray(stacked).reshape(-1)
    (same,) = body_of(computation).lanes(identity, values)
    return monoid if bool(equal_elements(same, values).all()) else None


def _flagged(stacked: Array, computation: Region, expected: Array, actual: Array) -> Part:
    """A reduction of values, each with a flag that says it is one; the init value is none.

    So any computation has an identity.
    """
    there, flags = np.ones(stacked.shape, np.bool_), np.ones(expected.shape, np.bool_)
    inputs = (stacked, there, np.zeros((), stacked.dtype), np.zeros((), np.bool_))
    program = _reduce(inputs, (expected, flags), with_identity(computation))
    return Part(program, inputs, (expected, flags), (actual, flags))


def _reduce(inputs: tuple[Array, ...], results: tuple[Array, ...], computation: Region) -> Program:
    operands = tuple(Value(f"v{n}", _type(array)) for n, array in enumerate(inputs))
    given: dict[str, Attribute] = {"dimensions": (0,)}
    return single_op("reduce", operands, tuple(map(_type, results)), given, (computation,))


def with_identity(computation: Region) -> Region:
    """A computation on pairs of a value and a flag: values without theirs change nothing."""
    *operations, end = computation.operations
    left, right = computation.arguments
    (result,) = end.operands
    flags = (Value("left is there", _FLAG), Value("right is there", _FLAG))
    both, some, alone, value = (
        Value("both", _FLAG),
        Value("some", _FLAG),
        Value("alone", result.type),
        Value("value", result.type),
    )
    chosen = (
        Operation("and", flags, (both,)),
        Operation("or", flags, (some,)),
        Operation("select", (flags[0], left, right), (alone,)),
        Operation("select", (both, result, alone), (value,)),
        Operation("return", (value, some)),
    )
    return Region((left, flags[0], right, flags[1]), (*operations, *chosen))
