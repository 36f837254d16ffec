"""Compilation of programs, function by function, each on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from reference.interpreter.calls import (
    call_step,
    custom_call_step,
    parallel_step,
    runs_processes,
    sharding_step,
)
from reference.interpreter.frames import Block, Entry, SlottedOperation, Step, failing_step
from reference.interpreter.inlining import NotInlined, inline_calls
from reference.interpreter.steps import op_step
from reference.ir.errors import EvaluationError, evaluation_error
from reference.ir.program import Operation, Program, Region, Value
from reference.ops.structure import CALLEE, RETURNS, calls_target, computations
from reference.ops.table import OPS, Op
from reference.ops.xla.lowering import steps_of

Scope = dict[str, int]
"""Frame slots of all visible values, by name."""


@dataclass(slots=True)
class CompiledProgram:
    """A program whose functions are compiled on first use."""

    program: Program
    _entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _open: list[str] = field(default_factory=list[str])
    _used: dict[str, Op | None] = field(default_factory=dict[str, Op | None])

    @property
    def is_current(self) -> bool:
        """Whether the table of ops still has the records that this program was compiled with."""
        return all(OPS.get(name) is semantics for name, semantics in self._used.items())

    def entry(self, name: str) -> Entry:
        """Return the function of that name.

        Raises:
            EvaluationError: if there is none, if it calls itself, or if it does not return.
        """
        if name in self._entries:
            return self._entries[name]
        if name in self._open:
            raise EvaluationError(f"{name} calls itself")
        try:
            function = self.program.function(name)
        except KeyError as error:
            raise EvaluationError(str(error.args[0])) from None
        self._open.append(name)
        try:
            maker = BlockCompiler(self)
            block = maker.block(function.body, {})
        finally:
            self._open.pop()
        self._entries[name] = Entry(name, block, maker.slots)
        return self._entries[name]

    def semantics(self, name: str) -> Op | None:
        """Return the record of a mnemonic in the table of ops, or None."""
        return self._used.setdefault(name, OPS.get(name))


@dataclass(slots=True)
class BlockCompiler:
    """Compile the blocks of one function and assign a frame slot to each value."""

    compiled: CompiledProgram
    slots: int = 0

    def block(self, region: Region, outer: Scope) -> Block:
        """Return a region as a block; its operations see the values of the enclosing blocks.

        Raises:
            EvaluationError: if it uses an undefined value, or does not return.
        """
        scope = dict(outer)
        arguments = tuple([self._slot(scope, value) for value in region.arguments])
        wired: list[SlottedOperation] = []
        steps: list[Step] = []
        used: list[set[int]] = []
        program = self.compiled.program
        for operation in (step for one in region.operations for step in steps_of(one, program)):
            taken = _operand_slots(operation, scope)
            if operation.name in RETURNS:
                last = () if outer else _last_uses(arguments, wired, used, taken)
                compile_sibling = self._nested_compiler(outer)
                return Block(
                    region, compile_sibling, arguments, tuple(wired), tuple(steps), taken, last
                )
            used.append({*taken, *_outer_slots(operation, scope)})
            one, step = self.step(operation, taken, scope)
            wired.append(one)
            steps.append(step)
        raise EvaluationError("a block does not end with return")

    def step(
        self, operation: Operation, taken: tuple[int, ...], scope: Scope
    ) -> tuple[SlottedOperation, Step]:
        """Return an operation with these operand slots and its step; assign slots to its
        results."""
        blocks = [self.block(inner, scope) for inner in self._regions(operation)]
        given = tuple([self._slot(scope, value) for value in operation.results])
        return self._step(SlottedOperation(operation, taken, given), blocks)

    def _regions(self, operation: Operation) -> tuple[Region, ...]:
        """Return the operation's regions, with calls in bodies inlined so that patterns are
        visible."""
        try:
            return inline_calls(operation, self.compiled.program).regions
        except NotInlined:  # the call reports the error when it is executed
            return operation.regions

    def _nested_compiler(self, outer: Scope) -> Callable[[Region, int], tuple[Block, int]]:
        def compile_sibling(region: Region, slots: int) -> tuple[Block, int]:
            maker = BlockCompiler(self.compiled, slots)
            return maker.block(region, outer), maker.slots

        return compile_sibling

    def _slot(self, scope: Scope, value: Value) -> int:
        slot = scope[value.name] = self.slots
        self.slots += 1
        return slot

    def _step(self, wired: SlottedOperation, blocks: list[Block]) -> tuple[SlottedOperation, Step]:
        name = wired.operation.name
        if calls_target(wired.operation) and runs_processes(wired.operation):
            return wired, parallel_step(wired, self._called_entries(wired.operation))
        if calls_target(wired.operation):
            return wired, custom_call_step(wired, self._called_entries(wired.operation))
        if name.startswith("sdy."):
            return wired, sharding_step(wired, blocks)
        if name not in CALLEE:
            return wired, op_step(self.compiled.semantics(name), wired, blocks)
        try:
            callee = self.compiled.entry(str(wired.operation.attribute(CALLEE[name])))
        except EvaluationError as error:
            return wired, failing_step(wired.operation, error)
        return wired, call_step(wired, callee)

    def _called_entries(self, operation: Operation) -> tuple[Entry, ...] | EvaluationError:
        """Return the functions that a custom call names, or the reason why they cannot be
        called."""
        try:
            return tuple([self.compiled.entry(name) for name in computations(operation)])
        except EvaluationError as error:
            return error


def _outer_slots(operation: Operation, scope: Scope) -> Iterator[int]:
    """Yield the slots of outer values whose names occur in the regions of an operation."""
    for region in operation.regions:
        for inner in region.operations:
            yield from (scope[operand.name] for operand in inner.operands if operand.name in scope)
            yield from _outer_slots(inner, scope)


def _last_uses(
    arguments: Sequence[int],
    wired: Sequence[SlottedOperation],
    used: Sequence[set[int]],
    returned: Sequence[int],
) -> tuple[tuple[int, ...], ...]:
    """Return for each operation the slots whose values no later operation needs."""
    kept = set(returned)
    last: list[tuple[int, ...]] = []
    for one, slots in zip(reversed(wired), reversed(used), strict=True):
        ending = {*slots, *one.result_slots} - kept
        kept |= ending
        last.append(tuple(ending))
    if last:
        last[-1] += tuple(slot for slot in arguments if slot not in kept)
    return tuple(reversed(last))


def _operand_slots(operation: Operation, scope: Scope) -> tuple[int, ...]:
    try:
        return tuple([scope[operand.name] for operand in operation.operands])
    except KeyError as missing:
        raise evaluation_error(operation, f"no value %{missing.args[0]}") from None
