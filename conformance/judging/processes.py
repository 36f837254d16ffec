"""Programs of several processes, judged result by result as programs of one process.

A collective that folds is a reduction of the group's contributions without an init value; all other
results are data. A collective in a branch or a loop is judged by its last execution, in the
processes that reached it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import replace_operation
from conformance.transforms.values import free_values
from generators.regions.bodies import identity_of, number_of
from reference.interpreter.evaluate import body_of, evaluate, given_attributes
from reference.interpreter.inlining import inline_calls
from reference.interpreter.processes import current_process, last_process
from reference.ir.errors import EvaluationError
from reference.ir.monoid import ADD, MAXIMUM, MINIMUM, Monoid
from reference.ir.processes import Process, ProcessId, processes
from reference.ir.program import (
    Attribute,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    single_op,
)
from reference.ir.regions import components
from reference.ir.types import BOOLEAN, Array, element_type_of, to_bits
from reference.numerics.alike import equal_elements
from reference.numerics.monoids import can_fold
from reference.ops.distribution.distribution import Contributions, contributions
from reference.ops.table import OPS

_FLAG = TensorType((), BOOLEAN[0])


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """A result of a process, as the first result of a program of one process.

    With `is_data` nothing is folded, so there are no rounding errors.
    """

    program: Program
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    actual: tuple[Array, ...]
    is_data: bool = False


def process_results(
    program: Program, inputs: Sequence[Array], expected: Sequence[Array], actual: Sequence[Array]
) -> Iterator[ProcessResult]:
    """Yield the results of every process in order, each as a program of one process."""
    several = collectives_of(program)
    if not _is_folding(program, several):
        yield from (_data_result(want, got) for want, got in zip(expected, actual, strict=True))
        return
    folded = [_contributions_by_process(program, inputs, one) for one in several]
    bodies = [inline_calls(one, program).regions[0] for one in several]
    parts = (
        (values, body)
        for process in zip(*folded, strict=True)
        for given, body in zip(process, bodies, strict=True)
        for values in given
    )
    for (values, body), want, got in zip(parts, expected, actual, strict=True):
        if values is None:
            yield _data_result(want, got)
        else:
            yield _reduction_result(np.stack(values), body, want, got)


def _is_folding(program: Program, several: Sequence[Operation]) -> bool:
    """Return whether a program's results come from folding collectives.

    They may also be results of the operation that holds the collectives: the last, or those that
    its region returns there.
    """
    made = tuple(value for one in several for value in one.results)
    ends, holder = program.main.body.operations[-1].operands, program.subject
    last = holder.results[-len(made) :] if made else ()
    returned = tuple(
        result
        for region in holder.regions
        for value, result in zip(region.operations[-1].operands, holder.results, strict=False)
        if value in made
    )
    return bool(made) and all(one.regions for one in several) and ends in (made, last, returned)


def _contributions_by_process(
    program: Program, inputs: Sequence[Array], one: Operation
) -> list[list[Contributions]]:
    """Return, for each process, the contributions to each result of a collective.

    The contributions are None in processes that do not reach the collective.
    """
    grid = program.process_grid or (1, 1)
    given = _operands_by_process(program, inputs, one)

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


def _operands_by_process(
    program: Program, inputs: Sequence[Array], one: Operation
) -> dict[ProcessId, Any]:
    """Return the operands of an operation, grouped, for each process at its last execution."""
    values = tuple(replace(value, name=f"{value.name} taken") for value in one.operands)
    barrier = Operation("optimization_barrier", one.operands, values)
    given: dict[ProcessId, Any] = {}

    def keep(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
        if operation is barrier:
            given[current_process()] = OPS[one.name].group_operands(results)[0]
        return results

    watched = replace_operation(program, one, barrier, replace(one, operands=values))
    evaluate(watched, inputs, on_result=keep)
    return given


def local_reductions(
    operation: Operation, operands: Sequence[Any], results: Sequence[Array]
) -> list[ProcessResult | None]:
    """Return the reduction that each result of the collective evaluated last is in this process.

    None for results that are data.
    """
    here = last_process()
    given = OPS[operation.name].group_operands(operands)[0] if operands else ()
    values = contributions(operation, given, here, given_attributes(operation))
    return [
        None
        if value is None
        else _reduction_result(np.stack(value), operation.regions[0], result, result)
        for value, result in zip(values, results, strict=True)
    ]


def _tensor_type(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


def _data_result(expected: Array, actual: Array) -> ProcessResult:
    value = Value("data", _tensor_type(expected))
    program = single_op("optimization_barrier", (value,), (_tensor_type(expected),))
    return ProcessResult(program, (expected,), (expected,), (actual,), is_data=True)


def _reduction_result(
    stacked: Array, computation: Region, expected: Array, actual: Array
) -> ProcessResult:
    """Return a reduction along the first dimension whose init value changes no result."""
    (monoid,) = components(computation)
    element = element_type_of(stacked)
    monoid = monoid or _extremum_monoid(stacked, computation)
    if monoid is None or not can_fold(monoid, element):
        return _flagged_reduction_result(stacked, computation, expected, actual)
    identity = (
        -0.0 if monoid is ADD and not element.is_integer else identity_of(monoid.name, element)
    )
    inputs = (stacked, number_of(identity, element))
    program = _reduce_program(inputs, (expected,), computation)
    return ProcessResult(program, inputs, (expected,), (actual,))


def _extremum_monoid(stacked: Array, computation: Region) -> Monoid | None:
    """Return the extremum that a computation amounts to on these values, or None.

    Its identity must change no value that is there.
    """
    element = element_type_of(stacked)
    monoid = _body_monoid(computation) if element.is_float else None
    if monoid is None or monoid is ADD or not can_fold(monoid, element):
        return None
    identity = np.full(stacked.size, number_of(identity_of(monoid.name, element), element))
    values = np.ascontiguousarray(stacked).reshape(-1)
    (same,) = body_of(computation).lanes(identity, values)
    return monoid if bool(equal_elements(same, values).all()) else None


def _flagged_reduction_result(
    stacked: Array, computation: Region, expected: Array, actual: Array
) -> ProcessResult:
    """Return a reduction of values that each have a flag; the init value's flag is unset.

    The flag gives any computation an identity.
    """
    there, flags = np.ones(stacked.shape, np.bool_), np.ones(expected.shape, np.bool_)
    inputs = (stacked, there, np.zeros((), stacked.dtype), np.zeros((), np.bool_))
    program = _reduce_program(inputs, (expected, flags), add_identity(computation))
    return ProcessResult(program, inputs, (expected, flags), (actual, flags))


def _reduce_program(
    inputs: tuple[Array, ...], results: tuple[Array, ...], computation: Region
) -> Program:
    operands = tuple(Value(f"v{n}", _tensor_type(array)) for n, array in enumerate(inputs))
    given: dict[str, Attribute] = {"dimensions": (0,)}
    return single_op("reduce", operands, tuple(map(_tensor_type, results)), given, (computation,))


def add_identity(computation: Region) -> Region:
    """Return the computation on pairs of value and flag; values without a flag change nothing."""
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


_SIGNED = (-1.0, -0.0, 0.0, 1.0)


def _body_monoid(region: Region) -> Monoid | None:
    """Return the monoid that a body computes with other operations, or None.

    Its results on zeros of both signs and on 1 determine it.
    """
    first, second = (value.type for value in region.arguments)
    if free_values(region) or first != second or not isinstance(first, TensorType):
        return None
    numbers = [np.array(number).astype(first.storage) for number in _SIGNED]
    pairs = list(product(numbers, numbers))
    end = region.operations[-1].operands
    body = Program((Function("main", region, tuple(value.type for value in end)),))
    placed = tuple(Value(name, first) for name in ("a", "b"))
    try:
        found = [evaluate(body, pair) for pair in pairs]
        for monoid in (MAXIMUM, MINIMUM, ADD):
            alone = single_op(monoid.name, placed, (first,))
            same = (evaluate(alone, pair) for pair in pairs)
            if all(to_bits(a[0]) == to_bits(b[0]) for a, b in zip(found, same, strict=True)):
                return monoid
    except EvaluationError:
        pass
    return None
