"""Loops whose iterations only read and write slices, evaluated for many iterations at once.

A compiler expands a gather into a loop: each iteration reads an index, slices the operand there,
and writes the slice to the result. One by one, a hundred thousand iterations take as many
evaluations of each operation. Here, each operation is evaluated once for many iterations, each of
which is a lane. Every value that a loop carries must be of one of three kinds:

- *constant*: the body returns it unchanged.
- *counting*: an integer that the condition needs, or that the next value of a counting value needs.
  The values of many iterations are guessed, in equal steps. The guess is used as far as condition
  and body confirm it.
- *written*: the body only writes into it, and reads it nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from reference.interpreter.frames import Block, Frame, Run, SlottedOperation, Step
from reference.interpreter.verify import given_attributes, stated_results
from reference.ir.notation import is_quantized
from reference.ir.op import Structure
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import Array, element_type_of
from reference.ops.table import OPS, Op

_ELEMENTS = 1 << 20
"""The most elements of a value in all lanes, which bounds memory."""

_FIRST_GUESS, _GROWTH = 64, 8
"""The number of iterations that are guessed first, and its growth while guesses are right."""

Lanes = Callable[..., Any]
"""A function of operands in lanes, and the result in lanes."""


@dataclass(frozen=True, slots=True)
class _BlockPart:
    """Operations of a block, separated by whether their results differ between lanes."""

    shared: tuple[Step, ...]
    each: tuple[tuple[SlottedOperation, Lanes], ...]

    def run(self, run: Run, frame: Frame, varying: dict[int, Array]) -> Callable[[int], Array]:
        """Return a function from slots to values in lanes, given the arguments in lanes."""
        for step in self.shared:
            step(run, frame)
        values = dict(varying)

        def in_lanes(slot: int) -> Array:
            return values[slot] if slot in values else frame[slot][None]

        for one, function in self.each:
            values[one.result_slots[0]] = function(*map(in_lanes, one.operand_slots))
        return in_lanes


@dataclass(frozen=True, slots=True)
class _Write:
    """A carried value that each iteration writes into, by its number, and the operation."""

    number: int
    wired: SlottedOperation


@dataclass(frozen=True, slots=True)
class LoopInLanes:
    """A loop that can be evaluated for many iterations at once.

    Attributes:
        cond, body: the regions of the loop.
        counting: the numbers of the counting values.
        steps: the steps of the body that compute their next values.
        condition: the operations of `cond`, in lanes.
        counts: the operations of `steps`, in lanes.
        each: the operations of the body except the writes, in lanes.
        writes: the written values.
        most: the most iterations that are evaluated at once.
    """

    cond: Block
    body: Block
    counting: tuple[int, ...]
    steps: tuple[Step, ...]
    condition: _BlockPart
    counts: _BlockPart
    each: _BlockPart
    writes: tuple[_Write, ...]
    most: int

    def run(self, run: Run, frame: Frame, operands: Sequence[Array]) -> tuple[list[Array], bool]:
        """Return the carried values, and whether the loop has ended.

        It has not if the counting values do not move in equal steps.
        """
        state, count = list(operands), _FIRST_GUESS
        for write in self.writes:
            state[write.number] = state[write.number].copy()
        while self.cond.run(run, frame, *state)[0]:
            guess = self._guess(run, frame, state, count)
            if guess is None:
                return state, False
            confirmed = self._confirm(run, frame, state, guess)
            self._iterate(run, frame, state, [values[:confirmed] for values in guess])
            if confirmed < len(guess[0]) and self.cond.run(run, frame, *state)[0]:
                return state, False
            count = min(count * _GROWTH, self.most)
        return state, True

    def _guess(self, run: Run, frame: Frame, state: list[Array], count: int) -> list[Array] | None:
        """Return counting values of the next iterations, in steps as large as the first one."""
        _set_arguments(self.body, frame, state)
        for step in self.steps:
            step(run, frame)
        pairs = [(state[at].item(), frame[self.body.returned[at]].item()) for at in self.counting]
        for number, (first, second) in zip(self.counting, pairs, strict=True):
            element_type = element_type_of(state[number])
            bound = min(
                element_type.max_integer if second > first else -element_type.min_integer, 2**62
            )
            room = bound - (first if second > first else -first)
            count = min(count, room // max(abs(second - first), 1))
        if count < 2:
            return None
        turns = np.arange(count)
        return [
            (first + turns * (second - first)).astype(state[number].dtype)
            for number, (first, second) in zip(self.counting, pairs, strict=True)
        ]

    def _confirm(self, run: Run, frame: Frame, state: list[Array], guess: list[Array]) -> int:
        """Return the number of iterations that are as guessed."""
        _set_arguments(self.cond, frame, state)
        holds = self.condition.run(run, frame, self._arguments(self.cond, guess))
        wrong = ~np.broadcast_to(holds(self.cond.returned[0]), guess[0].shape).astype(bool)
        _set_arguments(self.body, frame, state)
        following = self.counts.run(run, frame, self._arguments(self.body, guess))
        for number, values in zip(self.counting, guess, strict=True):
            found = np.broadcast_to(following(self.body.returned[number]), values.shape)
            wrong[1:] |= found[:-1] != values[1:]
        return int(wrong.argmax()) if wrong.any() else len(wrong)

    def _arguments(self, block: Block, guess: list[Array]) -> dict[int, Array]:
        return {block.arguments[at]: of for at, of in zip(self.counting, guess, strict=True)}

    def _iterate(self, run: Run, frame: Frame, state: list[Array], counts: list[Array]) -> None:
        """Evaluate several iterations at once, given the counter's value in each, and update the
        state.
        """
        _set_arguments(self.body, frame, state)
        values = self.each.run(run, frame, self._arguments(self.body, counts))
        for write in self.writes:
            operation = write.wired.operation
            semantics = OPS[operation.name]
            assert semantics.write_lanes is not None
            given = map(values, write.wired.operand_slots[1:])
            operands = semantics.group_operands([state[write.number], *given])
            semantics.write_lanes(*operands, **given_attributes(operation))
        for number in self.counting:
            state[number] = values(self.body.returned[number])[-1:].reshape(())


def _set_arguments(block: Block, frame: Frame, state: Sequence[Array]) -> None:
    for slot, value in zip(block.arguments, state, strict=True):
        frame[slot] = value


def loop_in_lanes(cond: Block, body: Block) -> LoopInLanes | None:
    """Return a loop for evaluation in lanes; None if it has values of another kind."""
    if not _are_plain(cond) or not _are_plain(body):
        return None
    writes = _written_values(body)
    written = {write.number for write in writes}
    kept = {at for at, slot in enumerate(body.returned) if slot == body.arguments[at]}
    counting = tuple(at for at in range(len(body.arguments)) if at not in written | kept)
    if not writes or not counting or not all(map(_is_integer, _carried_values(body, counting))):
        return None
    counts = _needed_operations(body, [body.returned[at] for at in counting])
    used = {slot for count in counts for slot in count.operand_slots}
    used |= {slot for one in cond.wired for slot in one.operand_slots} | {*cond.returned}
    if used & {block.arguments[at] for block in (cond, body) for at in written}:
        return None
    written_by = {write.wired.result_slots for write in writes}
    moves = [one for one in body.wired if one.result_slots not in written_by]
    condition = _block_part(cond, cond.wired, counting)
    counted, each = _block_part(body, counts, counting), _block_part(body, moves, counting)
    if condition is None or counted is None or each is None:
        return None
    values = [one.operation.results[0] for one, _ in each.each]
    values += [write.wired.operation.operands[1] for write in writes]
    most = max(_ELEMENTS // max(map(_element_count, values)), 2)
    steps = tuple(step for one, step in zip(body.wired, body.steps, strict=True) if one in counts)
    return LoopInLanes(
        cond, body, counting, steps, condition, counted, each, tuple(writes), most
    )  # fmt: skip


def _block_part(
    block: Block, operations: Sequence[SlottedOperation], counting: Iterable[int]
) -> _BlockPart | None:
    """Return the operations of a block for evaluation in lanes; None if that is impossible."""
    chosen = {operation.result_slots for operation in operations}
    varying = {block.arguments[at] for at in counting}
    shared: list[Step] = []
    each: list[tuple[SlottedOperation, Lanes]] = []
    for one, step in zip(block.wired, block.steps, strict=True):
        if one.result_slots not in chosen:
            continue
        if not varying & {*one.operand_slots}:
            shared.append(step)
            continue
        function = _function_in_lanes(one)
        if function is None:
            return None
        varying |= {*one.result_slots}
        each.append((one, function))
    return _BlockPart(tuple(shared), tuple(each))


def _are_plain(block: Block) -> bool:
    """Return whether a block's values are tensors of known sizes without quantized elements."""
    results = [value for one in block.wired for value in one.operation.results]
    types = [value.type for value in (*block.region.arguments, *results)]
    plain = all(
        isinstance(of, TensorType) and of.is_static and not is_quantized(of) for of in types
    )
    return plain and all(_is_pure(one.operation.name) for one in block.wired)


def _is_pure(name: str) -> bool:
    """Return whether an op has no side effects, and the same results for the same operands."""
    semantics = OPS.get(name)
    computes = (Structure.COMPUTES, Structure.CONSTANT)
    return semantics is not None and semantics.structure in computes and not semantics.is_random


def _written_values(body: Block) -> list[_Write]:
    """Return the carried values that the body writes into and does not use otherwise."""
    uses = [slot for one in body.wired for slot in one.operand_slots] + [*body.returned]
    writes: list[_Write] = []
    for index, slot in enumerate(body.returned):
        for one in body.wired:
            if one.result_slots != (slot,) or OPS[one.operation.name].write_lanes is None:
                continue
            own = body.arguments[index]
            if one.operand_slots[0] == own and uses.count(own) == 1 and uses.count(slot) == 1:
                writes.append(_Write(index, one))
    return writes


def _carried_values(body: Block, numbers: Iterable[int]) -> list[Value]:
    return [body.region.arguments[number] for number in numbers]


def _is_integer(value: Value) -> bool:
    """Return whether a value is a scalar of an integer type."""
    of = value.type
    return isinstance(of, TensorType) and of.shape == () and of.element.is_integer


def _needed_operations(body: Block, slots: Iterable[int]) -> list[SlottedOperation]:
    """Return the operations of a body that compute these values."""
    needed, found = {*slots}, list[SlottedOperation]()
    for one in reversed(body.wired):
        if needed & {*one.result_slots}:
            found.append(one)
            needed |= {*one.operand_slots}
    return found


def _element_count(value: Value) -> int:
    """Return the number of elements of a tensor."""
    return math.prod(tensor_of(value).static_shape)


def _function_in_lanes(wired: SlottedOperation) -> Lanes | None:
    """Return the function that evaluates an operation in lanes; None without such a function."""
    operation = wired.operation
    semantics = OPS[operation.name]
    if operation.regions or len(operation.results) != 1:
        return None
    if semantics.in_lanes is not None:
        keywords = given_attributes(operation)
        if semantics.needs_result:
            keywords |= stated_results(semantics, operation)
        return _lanes_of_grouped_operands(semantics, partial(semantics.in_lanes, **keywords))
    types = [value.type for value in (*operation.operands, *operation.results)]
    alike = len({of.shape for of in types if isinstance(of, TensorType)}) == 1
    return _elementwise_lanes(semantics, wired) if semantics.elementwise and alike else None


def _lanes_of_grouped_operands(semantics: Op, function: Callable[..., Array]) -> Lanes:
    def apply(*operands: Array) -> Array:
        return function(*semantics.group_operands(operands))

    return apply


def _elementwise_lanes(semantics: Op, wired: SlottedOperation) -> Lanes:
    """Return the function of an op that works element by element: it takes all lanes at once."""
    operation = wired.operation
    evaluate = partial(semantics.evaluate, **given_attributes(operation))
    of = tensor_of(operation.results[0])

    def apply(*operands: Array) -> Array:
        shape = (max(map(len, operands)), *of.static_shape)
        every = [
            operand if operand.shape == shape else np.broadcast_to(operand, shape).copy()
            for operand in operands
        ]
        if semantics.needs_result:
            return evaluate(*every, result=TensorType(shape, of.element_type))
        return evaluate(*every)

    return apply
