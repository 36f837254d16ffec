"""Regions made ready to run: every operation a step, every value a place in a frame.

Names are looked up, attributes sorted out and operands counted once, and not again at every turn
of a loop. A frame is a list with a place for every value of a function, those of nested regions
included; each call has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reference.interpreter.processes import Member
from reference.ir.errors import EvaluationError, failure, out_of_memory
from reference.ir.program import Operation, Region
from reference.ops.host import Queues

CustomCall = Callable[..., Any]
"""handler(*inputs): an array or a sequence of values."""

OnResult = Callable[[Operation, tuple[Any, ...]], Sequence[Any]]
Otherwise = Callable[[Operation, tuple[Any, ...], tuple[Any, ...]], Sequence[Any] | None]
"""otherwise(operation, operands, results): other results of an operation; None for no others."""
Frame = list[Any]


@dataclass(slots=True)
class Run:
    """What stays the same during one evaluation; `inside` is the one that bodies of ops see.

    `otherwise` computes operations in regions otherwise, those in bodies of ops too.
    """

    custom_calls: Mapping[str, CustomCall]
    on_result: OnResult | None
    queues: Queues
    member: Member = field(default_factory=lambda: Member((0, 0)))
    otherwise: Otherwise | None = None

    @property
    def inside(self) -> Run:
        """The same without the hook: bodies of reductions and the like are part of their op."""
        return self if self.on_result is None else replace(self, on_result=None)


Step = Callable[[Run, Frame], None]
"""step(run, frame): what an operation does."""

LaneStep = Callable[[tuple[int, ...], Frame], None]
"""step(lanes, frame): what an operation on scalars does in every lane at once."""


@dataclass(frozen=True, slots=True)
class Wired:
    """An operation with the places of its operands and results."""

    operation: Operation
    taken: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(slots=True)
class Block:
    """A region ready to run: its operations, a step for each, the places of what goes in and out.

    `beside(region, places)` is the block of another region that sees the same values, whose own
    begin at that place; with the number of places then taken. `last` says for each operation of a
    function which places nothing needs after it: they are emptied, so that large programs fit in
    memory; blocks of nested regions have none. `lanes` keeps the steps for many lanes at once (see
    reference.interpreter.lanes).
    """

    region: Region
    beside: Callable[[Region, int], tuple[Block, int]]
    arguments: tuple[int, ...]
    wired: tuple[Wired, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]
    last: tuple[tuple[int, ...], ...] = ()
    lanes: list[tuple[LaneStep, ...] | None] = field(
        default_factory=list[tuple[LaneStep, ...] | None]
    )

    def run(self, run: Run, frame: Frame, *inputs: Any) -> tuple[Any, ...]:
        """Its results on these inputs, in a frame that holds the values around it."""
        if len(inputs) != len(self.arguments):
            raise EvaluationError(f"a block of {len(self.arguments)} arguments given {len(inputs)}")
        for place, value in zip(self.arguments, inputs, strict=True):
            frame[place] = value
        if run.on_result is not None or run.otherwise is not None:
            self._observed(run, frame)
        elif not self.last:
            for step in self.steps:
                step(run, frame)
        else:
            for step, last in zip(self.steps, self.last, strict=True):
                step(run, frame)
                for place in last:
                    frame[place] = None
        return tuple([frame[place] for place in self.returned])

    def _observed(self, run: Run, frame: Frame) -> None:
        for number, (step, one) in enumerate(zip(self.steps, self.wired, strict=True)):
            operands = tuple([frame[place] for place in one.taken])
            step(run, frame)
            results = tuple([frame[place] for place in one.given])
            try:
                if run.otherwise is not None:
                    others = run.otherwise(one.operation, operands, results)
                    results = results if others is None else tuple(others)
                if run.on_result is not None:
                    results = tuple(run.on_result(one.operation, results))
            except MemoryError as error:
                raise out_of_memory(one.operation, error) from error
            store(one.operation, results, one.given, frame)
            for place in self.last[number] if self.last else ():
                frame[place] = None


@dataclass(slots=True)
class Entry:
    """A function ready to be called: its block, and how many places its frame has."""

    name: str
    block: Block
    places: int

    def call(self, run: Run, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Its results on these inputs, in a frame of its own."""
        return self.block.run(run, [None] * self.places, *inputs)


def store(
    operation: Operation, results: Sequence[Any], places: tuple[int, ...], frame: Frame
) -> None:
    """Put an operation's results where they belong.

    Raises:
        EvaluationError: when they are not as many as it has.
    """
    if len(results) != len(places):
        raise failure(operation, f"gives {len(results)} results")
    for place, result in zip(places, results, strict=True):
        frame[place] = result


def failing(operation: Operation, problem: object) -> Step:
    """The step of an operation that cannot be evaluated: an error once it is reached."""

    def step(_: Run, __: Frame) -> None:
        raise failure(operation, problem)

    return step
