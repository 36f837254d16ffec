"""Programs of one operation inside a construct: a branch, a loop, an asynchronous start.

If an operation waits for other processes, they must execute it too. So the values that decide the
control flow are equal in all processes of a group: a parameter with the same value in all, or a
constant with an element for each process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose
from generators.programs.building import Builder, constant
from generators.programs.writing import LARGEST_CONSTANT, scalar
from generators.values.contents import profiles_of
from reference.ir.program import (
    Attribute,
    Dense,
    FutureType,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
)
from reference.ir.types import ElementType
from reference.ops.distribution.groups import listed_ids
from reference.ops.host import COLLECTIVES

IN_MAIN, IF, CASE, LOOP, STARTED = "in main", "in if", "in case", "in while", "in async_start"
_BRANCHES = (2, 1, 3)
_BY_GROUP = 3
"""One branch in `_BY_GROUP` is executed by only some of the groups, if possible."""
_TURNS = (1, 0, 2, 3)
_OF_NO_BRANCH = [-1, 9, 2**31 - 1, -(2**31)]
_FOR_TAKEN = 4
"""One input set in `_FOR_TAKEN` does not execute the operation."""


@dataclass(slots=True)
class _Writer:
    """Writer of operations around the subject of a case.

    `decides` maps each new parameter to the number it holds in each input set.
    """

    pick: Pick
    sets: int
    operations: list[Operation] = field(default_factory=list[Operation])
    decides: dict[Value, list[int]] = field(default_factory=dict[Value, list[int]])
    names: Iterator[int] = field(default_factory=count)

    def new_value(self, of: ValueType) -> Value:
        """Return a new value."""
        return Value(f"construct.{next(self.names)}", of)

    def parameter(self, of: TensorType, numbers: Sequence[int]) -> Value:
        """Return a new parameter with a number for each input set, equal in all processes."""
        value = self.new_value(of)
        self.decides[value] = [*numbers]
        return value

    def add(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[ValueType],
        regions: tuple[Region, ...] = (),
        **given: Attribute,
    ) -> tuple[Value, ...]:
        """Append an operation and return its results."""
        values = tuple(map(self.new_value, results))
        self.operations.append(
            Operation(name, tuple(operands), values, attributes(**given), regions)
        )
        return values

    def number(self, value: Any, of: TensorType) -> Value:
        """Return a constant with these numbers."""
        array = np.asarray(value, of.storage).reshape(of.static_shape)
        return self.add("constant", (), (of,), value=Dense.of(array, of))[0]

    def draw_constant(self, of: ValueType) -> Value:
        """Return a constant with contents of some profile."""
        assert isinstance(of, TensorType)
        profile, seed = choose(self.pick, profiles_of(of.element)), self.pick(1 << 32)
        large = int(np.prod(of.static_shape)) > LARGEST_CONSTANT
        return self.add("constant", (), (of,), value=constant(of, profile, seed, splat=large))[0]

    def block(self) -> _Writer:
        """Return a writer of a nested region."""
        return replace(self, operations=[])

    def finish_region(self, results: Sequence[Value], *arguments: Value) -> Region:
        """Return the region with the operations written so far, and these results."""
        return Region(tuple(arguments), (*self.operations, Operation("return", tuple(results))))


def enclose(build: Builder, *, paired: bool = True) -> Builder:
    """Return a builder of the same cases, with the operation in a construct in some cases."""

    def built(element_type: ElementType, pick: Pick) -> Case:
        made = build(element_type, pick)
        started = (STARTED,) * 2 * (made.program.subject.name in COLLECTIVES)
        constructs = (IN_MAIN,) * 6 + (IF, IF, CASE, LOOP, LOOP) + started
        construct = choose(pick, constructs, "construct", paired=paired)
        return made if construct == IN_MAIN else put_in_construct(made, construct, pick)

    return built


Write = Callable[[_Writer, Program], tuple[Value, ...]]
"""A function write(writer, program): writes a construct around the program's subject and returns
its results.
"""


def put_in_construct(made: Case, construct: str, pick: Pick) -> Case:
    """Return a case whose single operation is placed in a construct, such as "in while"."""
    main = made.program.main
    *before, _, end = main.body.operations
    writer = _Writer(pick, len(made.inputs))
    results = _WRITE[construct](writer, made.program)
    operations = (*before, *writer.operations, replace(end, operands=results))
    body = Region((*main.arguments, *writer.decides), operations)
    changed = replace(main, body=body)
    functions = tuple(
        changed if function is main else function for function in made.program.functions
    )
    return Case(replace(made.program, functions=functions), _recipes(made, writer))


def _recipes(made: Case, writer: _Writer) -> tuple[InputRecipe, ...]:
    """Return the recipes of a case, extended by the values that decide the control flow."""
    columns = zip(*writer.decides.values(), strict=True) if writer.decides else ()
    more = [tuple(f"values:{number}" for number in numbers) for numbers in columns]
    if not more:
        return made.inputs
    return tuple(
        replace(recipe, profiles=(*recipe.profiles, *names))
        for recipe, names in zip(made.inputs, more, strict=True)
    )


def _types(subject: Operation) -> tuple[ValueType, ...]:
    return tuple(value.type for value in subject.results)


def _draw_executions(writer: _Writer) -> list[bool]:
    """Return for each input set whether it executes the operation: the first and most others do."""
    return [n == 0 or writer.pick(_FOR_TAKEN) < _FOR_TAKEN - 1 for n in range(writer.sets)]


def _other_branch(writer: _Writer, subject: Operation) -> Region:
    """Return a branch without the operation: constants of its result types."""
    block = writer.block()
    return block.finish_region([block.draw_constant(of) for of in _types(subject)])


def _if(writer: _Writer, program: Program) -> tuple[Value, ...]:
    subject, first = program.subject, writer.pick(2) == 0
    groups = _subject_groups(program)
    if groups and writer.pick(_BY_GROUP) == _BY_GROUP - 1:
        return _add_conditional(
            writer, subject, _group_predicate(writer, program, groups), first=True
        )
    taken = _draw_executions(writer)
    predicate = writer.parameter(scalar("i1"), [int(one == first) for one in taken])
    return _add_conditional(writer, subject, predicate, first=first)


def _add_conditional(
    writer: _Writer, subject: Operation, predicate: Value, *, first: bool
) -> tuple[Value, ...]:
    inside = Region((), (subject, Operation("return", subject.results)))
    other = _other_branch(writer, subject)
    regions = (inside, other) if first else (other, inside)
    return writer.add("if", (predicate,), _types(subject), regions)


def _group_predicate(writer: _Writer, program: Program, groups: list[list[int]]) -> Value:
    """Return a predicate that holds in some of the process groups, from a table of all
    processes."""
    replicas, _ = program.process_grid or (1, 1)
    inside = {id_ for group in groups if writer.pick(3) for id_ in group} or {*groups[0]}
    truth = scalar("i1").element
    table = writer.number(
        [id_ in inside for id_ in range(replicas)], TensorType((replicas,), truth)
    )
    own = writer.add("replica_id", (), (scalar("ui32"),))
    one = TensorType((1,), truth)
    mine = writer.add("dynamic_slice", (table, *own), (one,), slice_sizes=(1,))
    return writer.add("reshape", mine, (scalar("i1"),))[0]


def _subject_groups(program: Program) -> list[list[int]] | None:
    """Return the groups of replicas that execute the subject jointly; None if there are none."""
    subject, (replicas, partitions) = program.subject, program.process_grid or (1, 1)
    groups, channel = subject.attribute("replica_groups"), subject.attribute("channel_id", 0)
    if not isinstance(groups, Dense) or channel or replicas == 1 or partitions > 1:
        return None
    return [[*group] for group in listed_ids(groups)]


def _case(writer: _Writer, program: Program) -> tuple[Value, ...]:
    """Write a `case`; its index may be out of range, which selects the last branch."""
    subject, branches = program.subject, choose(writer.pick, _BRANCHES)
    place = writer.pick(branches)
    to = [[n] for n in range(branches)]
    to[-1] += _OF_NO_BRANCH
    others = [index for n in range(branches) if n != place for index in to[n]]
    indices = [choose(writer.pick, to[place] if execution else others or to[place])
               for execution in _draw_executions(writer)]  # fmt: skip
    index = writer.parameter(scalar("si32"), indices)
    inside = Region((), (subject, Operation("return", subject.results)))
    regions = tuple(
        inside if n == place else _other_branch(writer, subject) for n in range(branches)
    )
    return writer.add("case", (index,), _types(subject), regions)


def _while(writer: _Writer, program: Program) -> tuple[Value, ...]:
    """Write a loop that applies the operation to the first operand, then reverses this."""
    subject = program.subject
    counter, types = scalar("si32"), _types(subject)
    if writer.pick(3) == 2:
        limit = writer.number(choose(writer.pick, _TURNS), counter)
    else:
        turns = [choose(writer.pick, _TURNS if n else _TURNS[:1]) for n in range(writer.sets)]
        limit = writer.parameter(counter, turns)
    carried = subject.operands[:1]
    start = (writer.number(0, counter), *carried, *map(writer.draw_constant, types))
    state = tuple(value.type for value in start)
    before = tuple(map(writer.new_value, state))
    test, turn = writer.block(), writer.block()
    holds = test.add("compare", (before[0], limit), (scalar("i1"),), comparison_direction="LT")
    condition = test.finish_region(holds, *before)
    here = tuple(map(writer.new_value, state))
    (next_,) = turn.add("add", (here[0], turn.number(1, counter)), (counter,))
    operands = (*here[1 : 1 + len(carried)], *subject.operands[1:])
    turn.operations.append(replace(subject, operands=operands))
    moved = tuple(_reverse_value(turn, value) for value in operands[: len(carried)])
    body = turn.finish_region((next_, *moved, *subject.results), *here)
    return writer.add("while", start, state, (condition, body))[1 + len(carried) :]


def _reverse_value(writer: _Writer, value: Value) -> Value:
    assert isinstance(value.type, TensorType)
    if not value.type.rank:
        return value
    return writer.add("reverse", (value,), (value.type,), dimensions=(0,))[0]


def _write_async(writer: _Writer, program: Program) -> tuple[Value, ...]:
    """Write an asynchronous start of the operation, and the wait for it."""
    subject = program.subject
    arguments = tuple(writer.new_value(value.type) for value in subject.operands)
    inside = replace(subject, operands=arguments)
    body = Region(arguments, (inside, Operation("return", subject.results)))
    future = FutureType(_types(subject))
    started = writer.add("async_start", subject.operands, (future,), (body,))
    return writer.add("async_done", started, _types(subject))


_WRITE: dict[str, Write] = {
    IF: _if,
    CASE: _case,
    LOOP: _while,
    STARTED: _write_async,
}
