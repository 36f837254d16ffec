"""One instruction in its computation: its operands, and the region to which it is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from conformance.hlo.building import Building
from conformance.hlo.protos import Instruction, Shape
from conformance.hlo.shapes import Tree, array_type_of, leaf_types, leaves, tree_of
from conformance.hlo.unreadable import Unreadable
from reference.ir.program import Region, TensorType, Value


class Computations(Protocol):
    """The computations of the module that is read."""

    def inline(self, number: int, operands: Sequence[Tree], building: Building) -> Tree:
        """Add the operations of the computation with that id, and return its result."""
        ...

    def body(self, number: int, building: Building) -> Region:
        """Return the computation of that id as a region that takes its parameters."""
        ...

    @property
    def grid(self) -> tuple[int, int]:
        """The numbers of replicas and partitions that run the module."""
        ...


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction, its operands with their shapes, and the region to which it is added."""

    instruction: Instruction
    operands: tuple[Tree, ...]
    shapes: tuple[Shape, ...]
    building: Building
    computations: Computations

    def value(self, number: int) -> Value:
        """Return the operand of that number, which is no tuple.

        Raises:
            Unreadable: when there is none, or it is a tuple.
        """
        if number < len(self.operands):
            operand = self.operands[number]
            if isinstance(operand, Value):
                return operand
        raise self.unreadable(f"operand {number} is not an array")

    def converted_operand(self, number: int) -> Value:
        """Return the operand of that number in the result's element type.

        With mixed precision, narrower or wider floats may flow into a result.
        """
        return self.building.convert(self.value(number), self.type.element)

    @property
    def values(self) -> tuple[Value, ...]:
        """All operands, with tuples flattened."""
        return tuple(leaf for operand in self.operands for leaf in leaves(operand))

    @property
    def type(self) -> TensorType:
        """The type of the result, which is an array."""
        return array_type_of(self.instruction.shape)

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of all results, which are arrays."""
        types = tuple(leaf_types(self.instruction.shape))
        arrays = tuple(of for of in types if isinstance(of, TensorType))
        if len(arrays) != len(types):
            raise self.unreadable("a result is a token")
        return arrays

    def tree(self, values: Sequence[Value]) -> Tree:
        """Return values as the results of the instruction, as a tuple if its shape is a tuple."""
        return tree_of(self.instruction.shape, iter(values))

    def body(self, number: int = 0) -> Region:
        """Return a computation that the instruction refers to, as a region."""
        return self.computations.body(self.computation_id(number), self.building)

    def computation_id(self, number: int = 0) -> int:
        """Return the id of a computation that the instruction refers to."""
        ids = self.instruction.called_computation_ids
        if number >= len(ids):
            raise self.unreadable(f"it refers to {len(ids)} computations, too few")
        return ids[number]

    def inline(self, operands: Sequence[Tree], number: int = 0) -> Tree:
        """Add the operations of a computation that the instruction calls with these operands."""
        return self.computations.inline(self.computation_id(number), operands, self.building)

    @property
    def construct(self) -> str:
        """The name by which reports count the instruction: a custom call's target, or the
        opcode.
        """
        target = self.instruction.custom_call_target
        return f"custom call {target}" if target else f"opcode {self.instruction.opcode}"

    def unreadable(self, reason: str) -> Unreadable:
        """Return the error that says that this instruction has no meaning here."""
        return Unreadable(self.construct, reason)


Handler = Callable[[Site], Tree]
"""handler(site): adds the operations of an instruction, and returns its value."""
