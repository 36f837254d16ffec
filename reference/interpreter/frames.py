"""Regions prepared for execution: each operation is a step, each value a slot in a frame.

Names, attributes and operand counts are resolved once, not at every iteration of a loop. A frame is
a list with a slot for every value of a function, including nested regions; each call has its own
frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reference.interpreter.processes import GridProcess
from reference.ir.errors import EvaluationError, evaluation_error, out_of_memory
from reference.ir.program import Operation, Region
from reference.ops.host import Queues

CustomCall = Callable[..., Any]
"""A function handler(*inputs): an array or a sequence of values."""

OnResult = Callable[[Operation, tuple[Any, ...]], Sequence[Any]]
OverrideResults = Callable[[Operation, tuple[Any, ...], tuple[Any, ...]], Sequence[Any] | None]
"""A function otherwise(operation, operands, results): replacement results of an operation,
or None.
"""
Frame = list[Any]


@dataclass(slots=True)
class Run:
    """The constant part of one evaluation; `body_run` is the version for bodies of ops.

    `otherwise` overrides results of operations in regions, including bodies of ops.
    """

    custom_calls: Mapping[str, CustomCall]
    on_result: OnResult | None
    queues: Queues
    member: GridProcess = field(default_factory=lambda: GridProcess((0, 0)))
    otherwise: OverrideResults | None = None

    @property
    def body_run(self) -> Run:
        """The same evaluation without `on_result`, because bodies of reductions belong to their
        op."""
        return self if self.on_result is None else replace(self, on_result=None)


Step = Callable[[Run, Frame], None]
"""A function step(run, frame) that executes an operation."""

LaneStep = Callable[[tuple[int, ...], Frame], None]
"""A function step(lanes, frame) that executes an operation on scalars in all lanes at once."""


@dataclass(frozen=True, slots=True)
class SlottedOperation:
    """An operation with the frame slots of its operands and results."""

    operation: Operation
    operand_slots: tuple[int, ...]
    result_slots: tuple[int, ...]


@dataclass(slots=True)
class Block:
    """A region prepared for execution: a step per operation, the slots of arguments and results.

    `compile_sibling(region, slots)` compiles another region that sees the same values, with slots
    numbered from `slots`; it returns the block and the number of slots used. `last` lists, for each
    operation of a function, the slots that no later operation needs. They are cleared to save
    memory; nested blocks have none. `lanes` caches the steps for many lanes (see
    reference.interpreter.lanes).
    """

    region: Region
    compile_sibling: Callable[[Region, int], tuple[Block, int]]
    arguments: tuple[int, ...]
    wired: tuple[SlottedOperation, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]
    last: tuple[tuple[int, ...], ...] = ()
    lanes: list[tuple[LaneStep, ...] | None] = field(
        default_factory=list[tuple[LaneStep, ...] | None]
    )

    def run(self, run: Run, frame: Frame, *inputs: Any) -> tuple[Any, ...]:
        """Return the results on these inputs, in a frame that holds the outer values."""
        if len(inputs) != len(self.arguments):
            raise EvaluationError(
                f"a block takes {len(self.arguments)} arguments, not {len(inputs)}"
            )
        for slot, value in zip(self.arguments, inputs, strict=True):
            frame[slot] = value
        if run.on_result is not None or run.otherwise is not None:
            self._run_observed(run, frame)
        elif not self.last:
            for step in self.steps:
                step(run, frame)
        else:
            for step, last in zip(self.steps, self.last, strict=True):
                step(run, frame)
                for slot in last:
                    frame[slot] = None
        return tuple([frame[slot] for slot in self.returned])

    def _run_observed(self, run: Run, frame: Frame) -> None:
        for index, (step, one) in enumerate(zip(self.steps, self.wired, strict=True)):
            operands = tuple([frame[slot] for slot in one.operand_slots])
            step(run, frame)
            results = tuple([frame[slot] for slot in one.result_slots])
            try:
                if run.otherwise is not None:
                    others = run.otherwise(one.operation, operands, results)
                    results = results if others is None else tuple(others)
                if run.on_result is not None:
                    results = tuple(run.on_result(one.operation, results))
            except MemoryError as error:
                raise out_of_memory(one.operation, error) from error
            store(one.operation, results, one.result_slots, frame)
            for slot in self.last[index] if self.last else ():
                frame[slot] = None


@dataclass(slots=True)
class Entry:
    """A function prepared for calls: its block and the size of its frame."""

    name: str
    block: Block
    slots: int

    def call(self, run: Run, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results on these inputs, in a new frame."""
        return self.block.run(run, [None] * self.slots, *inputs)


def store(
    operation: Operation, results: Sequence[Any], slots: tuple[int, ...], frame: Frame
) -> None:
    """Store an operation's results in their slots.

    Raises:
        EvaluationError: if the number of results is wrong.
    """
    if len(results) != len(slots):
        raise evaluation_error(operation, f"gives {len(results)} results")
    for slot, result in zip(slots, results, strict=True):
        frame[slot] = result


def failing_step(operation: Operation, problem: object) -> Step:
    """Return the step of an operation that cannot be evaluated: it raises an error."""

    def step(_: Run, __: Frame) -> None:
        raise evaluation_error(operation, problem)

    return step
