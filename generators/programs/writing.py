"""Writers of programs of several operations: unique names, data movement, nested regions.

All arithmetic is exact: integers wrap, elements of other types are only moved. So all results can
be judged bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose
from generators.programs.building import constant
from generators.values.contents import profiles_of
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
)
from reference.ir.types import ELEMENT_TYPES, ElementType

SHAPES = (
    (), (1,), (3,), (2, 3), (4,), (5, 2), (17,), (2, 1, 3), (33,), (1, 1), (2, 2, 2, 2), (64,),
    (257,), (0,), (3, 0), (1, 0, 2),
)  # fmt: skip
"""Shapes of values that are only passed through; compilation of control flow depends little on
them.
"""

LARGEST_CONSTANT = 40
"""Largest number of elements of a constant; larger constants are splats, to keep programs small."""

_INPUT_SETS = (1, 3, 4, 5)


def scalar(name: str) -> TensorType:
    """Return the type of a scalar of that element type."""
    return TensorType((), ELEMENT_TYPES[name])


@dataclass(slots=True)
class Writer:
    """A writer of one function: its choices, the type of its data, its parameters so far.

    `profiles` has the candidate profiles of each parameter's contents.
    """

    pick: Pick
    of: TensorType
    parameters: dict[Value, tuple[str, ...]] = field(default_factory=dict[Value, tuple[str, ...]])
    names: int = 0

    def new_value(self, value_type: ValueType) -> Value:
        """Return a new value."""
        self.names += 1
        return Value(f"v{self.names}", value_type)

    def parameter(self, tensor_type: TensorType, *profiles: str) -> Value:
        """Return a new parameter of main, filled by one of these profiles."""
        value = self.new_value(tensor_type)
        self.parameters[value] = profiles or profiles_of(tensor_type.element)
        return value

    def block(self, *visible: Value, arguments: tuple[Value, ...] = ()) -> BlockWriter:
        """Return a writer of a block that sees these values, and its arguments of the data's
        type."""
        own = [value for value in arguments if value.type == self.of]
        return BlockWriter(self, arguments, [*visible, *own])

    def case(self, block: BlockWriter, results: Sequence[Value], *others: Function) -> Case:
        """Return the case with this block as main, which returns these results, before `others`."""
        types = tuple(value.type for value in results)
        region = block.finish_region(results)
        region = Region((*self.parameters, *region.arguments), region.operations)
        program = Program((Function("main", region, types), *others))
        if not self.parameters:
            return Case(program, (InputRecipe((), 0),))
        seed, sets = self.pick(1 << 32), choose(self.pick, _INPUT_SETS)
        recipes = tuple(
            InputRecipe(
                tuple(choose(self.pick, names) for names in self.parameters.values()), seed + n
            )
            for n in range(sets)
        )  # fmt: skip
        return Case(program, recipes)


@dataclass(slots=True)
class BlockWriter:
    """A writer of one block; `data` are the visible values of the data's type."""

    writer: Writer
    arguments: tuple[Value, ...]
    data: list[Value]
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(
        self,
        name: str,
        operands: Sequence[Value],
        *results: ValueType,
        regions: tuple[Region, ...] = (),
        given: Mapping[str, Attribute] | None = None,
    ) -> tuple[Value, ...]:
        """Append an operation with these attributes and return its results."""
        values = tuple(self.writer.new_value(of) for of in results)
        operation = Operation(name, tuple(operands), values, attributes(**(given or {})), regions)
        self.operations.append(operation)
        return values

    def finish_region(self, results: Sequence[Value]) -> Region:
        """Return the region with the operations written so far, and these results."""
        end = Operation("return", tuple(results))
        return Region(self.arguments, (*self.operations, end))

    def nested_block(self, *arguments: Value) -> BlockWriter:
        """Return a writer of a nested block."""
        return self.writer.block(*self.data, arguments=arguments)

    def number(self, value: int, tensor_type: TensorType) -> Value:
        """Return a constant with this number in every element."""
        array = np.full(tensor_type.static_shape, value).astype(tensor_type.element.storage)
        return self.add("constant", (), tensor_type, given={"value": Dense.of(array, tensor_type)})[
            0
        ]

    def draw_constant(self) -> Value:
        """Return a constant of the data's type with contents of some profile."""
        pick, of = self.writer.pick, self.writer.of
        large = math.prod(of.static_shape) > LARGEST_CONSTANT
        value = constant(of, choose(pick, profiles_of(of.element)), pick(1 << 32), splat=large)
        return self.add("constant", (), of, given={"value": value})[0]

    def pick_value(self) -> Value:
        """Return a value of the data's type, or else a constant."""
        if not self.data or self.writer.pick(6) == 5:
            return self.draw_constant()
        return self.data[self.writer.pick(len(self.data))]

    def write_step(self) -> Value:
        """Return the result of an operation that moves data, or computes with integers."""
        pick, of = self.writer.pick, self.writer.of
        kind, one = pick(4), self.pick_value()
        if kind == 1 and of.rank:
            return self._add_and_keep("reverse", (one,), {"dimensions": (pick(of.rank),)})
        if kind == 2:
            return self._add_and_keep("select", (self._predicate(), one, self.pick_value()))
        if kind == 3 and not (of.element.is_float or of.element.is_complex):
            return self._add_and_keep(
                choose(pick, _exact_ops(of.element)), (one, self.pick_value())
            )
        return one

    def write_steps(self, most: int = 3) -> None:
        """Write up to `most` steps."""
        for _ in range(self.writer.pick(most + 1)):
            self.write_step()

    def _add_and_keep(
        self, name: str, operands: tuple[Value, ...], given: Mapping[str, Attribute] | None = None
    ) -> Value:
        (result,) = self.add(name, operands, self.writer.of, given=given)
        self.data.append(result)
        return result

    def _predicate(self) -> Value:
        return self.number(self.writer.pick(2), scalar("i1"))


def _exact_ops(element_type: ElementType) -> tuple[str, ...]:
    return (
        ("xor", "and", "or") if element_type.is_boolean else ("add", "subtract", "xor", "multiply")
    )
