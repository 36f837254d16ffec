"""Wrong versions of an op, derived from its record, and the backend with a wrong version.

A mutation changes one input or output of the op: an operand, an attribute, a region, the results.
The replacement is something that a program could have there as well (another operand, the attribute
of another case, another value of the region), so that a backend which confuses the two gives
well-formed results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from conformance.backends.base import Description, Failed, Rejected, single_process_inputs
from conformance.backends.fake.wrong_operations import flip_bit
from conformance.tolerance.hardware import Hardware
from reference.interpreter.evaluate import EvaluationError, check, evaluate
from reference.ir.program import (
    Dense,
    FutureType,
    Operation,
    Program,
    Region,
    TensorType,
    TupleType,
    Value,
    ValueType,
)
from reference.ir.tokens import Future
from reference.ir.types import Array
from reference.ops.table import OPS, Op

Change = Callable[[Operation], Sequence[Operation]]
"""A function that returns the replacement of an operation."""

Pool = dict[str, list[Any]]
"""The values that attributes have in an op's cases, by name."""

OPERATIONS = 3000
"""Operations that a mutated program may execute: a loop may have lost its end."""

TRIED = 4
"""Mutations of one input that are tried in one case."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A wrong version of the op `op`, wrong about `about`, such as "operand lhs" or "results".

    `change` gives what takes the place of each of its operations, `results` what takes the place
    of their results.
    """

    op: str
    about: str
    change: Change | None = None
    results: Callable[[Any], Any] | None = None

    def is_valid(self, program: Program) -> bool:
        """Return whether the mutated program differs, and breaks no constraint."""
        mutated = self.program(program)
        return mutated != program and not check(mutated)

    def program(self, program: Program) -> Program:
        """Return the program with all operations of the op changed."""
        if self.change is None:
            return program
        functions = (
            replace(function, body=_change_region(function.body, self.op, self.change))
            for function in program.functions
        )
        return replace(program, functions=tuple(functions))


def _change_region(region: Region, op: str, change: Change) -> Region:
    operations: list[Operation] = []
    for operation in region.operations:
        regions = tuple(_change_region(inner, op, change) for inner in operation.regions)
        inside = replace(operation, regions=regions) if regions else operation
        operations += change(inside) if operation.name == op else (inside,)
    return replace(region, operations=tuple(operations))


def inputs_of(semantics: Op) -> tuple[str, ...]:
    """Everything that a mutation of the op can be about, its results last."""
    return (
        *(f"operand {name.removeprefix('*')}" for name in semantics.operands),
        *(f"attribute {name}" for name in semantics.attributes),
        *(f"region {name.removeprefix('*')}" for name in semantics.regions),
        "results",
    )


def pool_of(op: str, programs: Sequence[Program]) -> Pool:
    """Return the different values of each attribute of the op in these programs."""
    pool: Pool = {name: [] for name in OPS[op].attributes}
    for program in programs:
        for operation in program.walk():
            if operation.name == op:
                for name, value in operation.attributes:
                    if value not in pool.setdefault(name, []):
                        pool[name].append(value)
    return pool


def mutations(program: Program, op: str, about: str, pool: Pool) -> Iterator[Mutation]:
    """Yield some mutations of the op that are wrong about one of its inputs or its results."""
    kind, _, name = about.partition(" ")
    subject = next((operation for operation in program.walk() if operation.name == op), None)
    if subject is None:
        return
    if kind == "results":
        if any(_has_data(result.type) for result in subject.results):
            yield Mutation(op, about, results=_spoil_arrays)
            yield Mutation(op, about, results=_zero_arrays)
        return
    changes = {"operand": _operands, "region": _regions}
    made = (
        _attributes(subject, name, pool)
        if kind == "attribute"
        else changes[kind](OPS[op], subject, name)
    )
    valid = (m for m in (Mutation(op, about, change) for change in made) if m.is_valid(program))
    yield from islice(valid, TRIED)


def _has_data(of: ValueType) -> bool:
    inner = of.types if isinstance(of, TupleType | FutureType) else ()
    return isinstance(of, TensorType) or any(map(_has_data, inner))


def _arrays(change: Callable[[Array], Array], value: Any) -> Any:
    """Return the value with every array in it changed."""
    if isinstance(value, Future):
        return Future(tuple(_arrays(change, inner) for inner in value.values))
    if isinstance(value, tuple):
        return tuple(_arrays(change, inner) for inner in value)
    return change(value) if isinstance(value, np.ndarray) else value


def _spoil_arrays(value: Any) -> Any:
    """Return the value with one wrong element in each array."""
    return _arrays(lambda array: flip_bit(array, 0), value)


def _zero_arrays(value: Any) -> Any:
    """Return the value with nothing but zeros."""
    return _arrays(np.zeros_like, value)


def _places(names: Sequence[str], grouped: Sequence[Any], name: str) -> list[int]:
    """Return the positions of a name, where `grouped` has the positions by name."""
    for own, positions in zip(names, grouped, strict=True):
        if own.removeprefix("*") == name:
            return list(positions) if isinstance(positions, tuple) else [positions]
    return []


def _operands(semantics: Op, subject: Operation, name: str) -> Iterator[Change]:
    """Replace an operand by another operand of its type, and by zeros."""
    grouped = semantics.group_operands(range(len(subject.operands)))
    for place in _places(semantics.operands, grouped, name):
        of = subject.operands[place].type
        for other, operand in enumerate(subject.operands):
            if other != place and operand.type == of and _has_data(of):
                yield _swap_operands(place, other)
        if isinstance(of, TensorType) and of.is_static:
            yield _zero_operand(place)


def _swap_operands(place: int, other: int) -> Change:
    def swap(operation: Operation) -> Sequence[Operation]:
        operands = list(operation.operands)
        if max(place, other) < len(operands):
            operands[place], operands[other] = operands[other], operands[place]
        return (replace(operation, operands=tuple(operands)),)

    return swap


def _zero_operand(place: int) -> Change:
    def zero(operation: Operation) -> Sequence[Operation]:
        of = operation.operands[place].type if place < len(operation.operands) else None
        if not isinstance(of, TensorType) or not of.is_static:
            return (operation,)
        value = Dense.of(np.zeros(of.static_shape, of.storage), of)
        zeros = Value(f"zeros_for_{operation.operands[place].name}_of_{id(operation)}", of)
        constant = Operation("constant", (), (zeros,), (("value", value),))
        operands = list(operation.operands)
        operands[place] = zeros
        return (constant, replace(operation, operands=tuple(operands)))

    return zero


def _attributes(subject: Operation, name: str, pool: Pool) -> Iterator[Change]:
    """Yield an attribute as another case has it, in reverse, with one number changed, left out."""
    present = dict(subject.attributes)
    candidates = [
        value for value in pool.get(name, ()) if name not in present or value != present[name]
    ]
    if name in present:
        candidates += list(_vary_attribute(present[name]))
        yield _set_attributes(**{name: None})
    yield from (_set_attributes(**{name: value}) for value in candidates)
    if name in present:
        others = (other for other in subject.attributes if other[0] != name)
        yield from (
            _set_attributes(**{name: mine, other: theirs})
            for other, value in others
            for mine, theirs in _exchange_numbers(present[name], value)
        )


def _vary_attribute(value: Any) -> Iterator[Any]:
    """Yield values of an attribute that are a little different."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield value * 2 + 1
    elif isinstance(value, Dense):
        yield Dense.of(flip_bit(value.array, 0), value.type)
    elif isinstance(value, tuple):
        yield from _varied_tuple(value)


def _varied_tuple(value: tuple[Any, ...]) -> Iterator[Any]:
    make = getattr(type(value), "_make", tuple)
    if make is tuple:
        yield value[::-1]
        yield (*value[1:], *value[:1])
    for place, inner in enumerate(value):
        for other in _vary_attribute(inner):
            yield make((*value[:place], other, *value[place + 1 :]))


def _exchange_numbers(mine: Any, theirs: Any) -> Iterator[tuple[Any, Any]]:
    """Yield two attributes with a number of each in the place of the other's."""
    for place, number in _numbers(mine):
        for other, theirs_there in _numbers(theirs):
            if number != theirs_there:
                yield _put(mine, place, theirs_there), _put(theirs, other, number)


def _numbers(value: Any) -> list[tuple[int, int]]:
    if isinstance(value, int) and not isinstance(value, bool):
        return [(0, value)]
    if type(value) is tuple:
        return [(place, n) for place, n in enumerate(value) if type(n) is int]
    return []


def _put(value: Any, place: int, number: int) -> Any:
    return (*value[:place], number, *value[place + 1 :]) if isinstance(value, tuple) else number


def _set_attributes(**values: Any) -> Change:
    def state(operation: Operation) -> Sequence[Operation]:
        stated = dict(operation.attributes) | values
        kept = {name: value for name, value in stated.items() if value is not None}
        return (replace(operation, attributes=tuple(sorted(kept.items()))),)

    return state


def _regions(semantics: Op, subject: Operation, name: str) -> Iterator[Change]:
    """Yield regions in which a region is replaced by another region, or returns another of its
    values.
    """
    grouped = semantics.name_regions(range(len(subject.regions)))
    positions = grouped[name]
    for place in positions if isinstance(positions, tuple) else (positions,):
        for other in range(len(subject.regions)):
            if other != place:
                yield _exchange_regions(place, other)
        region = subject.regions[place]
        *_, end = region.operations
        values = [*region.arguments, *(v for o in region.operations for v in o.results)]
        for index, operand in enumerate(end.operands):
            for value in values:
                if value.type == operand.type and value != operand:
                    yield _replace_result(place, index, value)


def _exchange_regions(place: int, other: int) -> Change:
    def exchange(operation: Operation) -> Sequence[Operation]:
        regions = list(operation.regions)
        if max(place, other) < len(regions):
            regions[place], regions[other] = regions[other], regions[place]
        return (replace(operation, regions=tuple(regions)),)

    return exchange


def _replace_result(place: int, number: int, value: Value) -> Change:
    def give(operation: Operation) -> Sequence[Operation]:
        regions = list(operation.regions)
        *before, end = regions[place].operations
        operands = (*end.operands[:number], value, *end.operands[number + 1 :])
        operations = (*before, replace(end, operands=operands))
        regions[place] = replace(regions[place], operations=operations)
        return (replace(operation, regions=tuple(regions)),)

    return give


@dataclass(frozen=True, slots=True)
class MutatedReference:
    """The reference as a backend, one of its ops mutated; with no mutation it is right.

    It plays the host for programs that need a host; `reference` does not.
    """

    mutation: Mutation | None = None
    name: str = "mutated reference"
    hardware: Hardware = Hardware.CPU

    def describe(self) -> Description:
        return Description(self.name, "reference", repr(self.mutation), ())

    def refusal(self, program: Program) -> None:
        del program

    def compile(self, text: str, program: Program) -> MutatedExecutable:
        """Mutate the program; an invalid mutated program is refused."""
        del text
        mutated = program if self.mutation is None else self.mutation.program(program)
        broken = check(mutated)
        if broken:
            raise Rejected(f"{broken[0][0].name} breaks {', '.join(broken[0][1])}")
        return MutatedExecutable(mutated, self.mutation)


@dataclass(frozen=True, slots=True)
class MutatedExecutable:
    """A mutated program, and the mutation that its results have still to undergo."""

    program: Program
    mutation: Mutation | None

    def execute(self, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
        """Evaluate the program. A program that cannot be evaluated, or does not end, fails."""
        executed = 0

        def observe(operation: Operation, results: tuple[Any, ...]) -> tuple[Any, ...]:
            nonlocal executed
            executed += 1
            if executed > OPERATIONS:
                raise EvaluationError("no end in sight")
            change = None if self.mutation is None else self.mutation.results
            return (
                results
                if change is None or operation.name != self.mutation.op
                else tuple(map(change, results))
            )

        try:
            return [list(evaluate(self.program, single_process_inputs(inputs), on_result=observe))]
        except EvaluationError as error:
            raise Failed(str(error)) from error
