"""Values with bounded sizes, reduced to static shapes, which backends require of results.

A value is observed as data: some of its elements, if it has that many; the sum of all elements as
bits; or its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose
from generators.programs.building import constant, inputs
from generators.regions.bodies import fold_of
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.program import (
    Attribute,
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    attributes,
)
from reference.ir.types import ELEMENT_TYPES, ElementType
from reference.ops.dynamism import SIZE

NOT_LOOKED_AT = "nothing"
COUNT, PART, REVERSED, JOINED, ALL = "the size", "a part", "a part reversed", "a part joined", "all"
_NUMBERS = {bits: ELEMENT_TYPES[f"ui{bits}"] for bits in (4, 8, 16, 32, 64)}


def bounded_type(
    sizes: Sequence[int], dynamic: Sequence[bool], element_type: ElementType
) -> TensorType:
    """Return a type of these sizes, which are the bounds of dynamic dimensions."""
    shape = tuple(None if free else n for n, free in zip(sizes, dynamic, strict=True))
    bounds = tuple(n if free else None for n, free in zip(sizes, dynamic, strict=True))
    return TensorType(shape, element_type, bounds)


def bounds_of(tensor_type: TensorType) -> tuple[int, ...]:
    """Return the sizes of a type, or their bounds if unknown."""
    pairs = zip(tensor_type.shape, tensor_type.bounds or tensor_type.shape, strict=True)
    return tuple(bound or 0 if size is None else size for size, bound in pairs)


def ways_to_look(element_type: ElementType) -> tuple[str, ...]:
    """Return the possible observations of values of an element type."""
    adds = not element_type.is_complex and element_type.bits in (1, *_NUMBERS)
    return (COUNT, PART, PART, REVERSED, JOINED) + (ALL,) * adds


@dataclass(slots=True)
class Writer:
    """Writes main: its operations so far, its parameters with the profile of each, and how many
    elements each dimension of a value has when it is executed."""

    pick: Pick
    operations: list[Operation] = field(default_factory=list[Operation])
    parameters: dict[Value, str] = field(default_factory=dict[Value, str])

    def parameter(self, name: str, of: TensorType, profile: str) -> Value:
        """Return a new parameter."""
        value = Value(name, of)
        self.parameters[value] = profile
        return value

    def add(
        self, name: str, operands: Sequence[Value], result: TensorType, *regions: Region,
        **given: Attribute,
    ) -> Value:  # fmt: skip
        """Append an operation; its result."""
        value = Value(f"r{len(self.operations)}", result)
        one = Operation(name, tuple(operands), (value,), attributes(**given), regions)
        self.operations.append(one)
        return value

    def number(self, value: Any, of: TensorType = SIZE) -> Value:
        """Return a constant."""
        array = np.asarray(value, of.storage).reshape(of.static_shape)
        return self.add("constant", (), of, value=Dense.of(array, of))

    def case(self, result: Value, rows: Sequence[ProfileRow]) -> Case:
        """Return the case whose main returns this; the rows give its first parameter's profiles."""
        assert isinstance(result.type, TensorType)
        self.pick.nothing = 0 in result.type.static_shape
        operations = (*self.operations, Operation("return", (result,)))
        placed = (*self.parameters,)
        main = Function("main", Region(placed, operations), (result.type,))
        others = tuple(self.parameters.values())[1:]
        filled = tuple((row[0], *others) for row in rows)
        return Case(Program((main,)), inputs(self.pick, placed, filled))

    def look(self, value: Value, sizes: Sequence[int], way: str) -> Value:
        """Return the observation of a value with these sizes."""
        if way == ALL:
            return self._added(value)
        of = value.type
        assert isinstance(of, TensorType)
        free = next((d for d, size in enumerate(of.shape) if size is None), 0)
        if way == COUNT:
            return self.add("get_dimension_size", (value,), SIZE, dimension=free)
        if way == REVERSED:
            value = self.add("reverse", (value,), of, dimensions=(free,))
        if way == JOINED:
            value, sizes = self._joined(value, sizes, free)
        return self._part(value, sizes, free)

    def _joined(self, value: Value, sizes: Sequence[int], free: int) -> tuple[Value, list[int]]:
        """Return the value concatenated with a constant of its bounds along its dynamic
        dimension."""
        of = value.type
        assert isinstance(of, TensorType)
        if len([size for size in of.shape if size is None]) > 1:
            return value, [*sizes]
        bounds, after = bounds_of(of), [*sizes]
        filled = constant(
            TensorType(bounds, of.element), choose(self.pick, profiles_of(of.element)), 7
        )
        other = self.add("constant", (), filled.type, value=filled)
        twice = tuple(2 * n if d == free else n for d, n in enumerate(bounds))
        after[free] += bounds[free]
        result = bounded_type(twice, [size is None for size in of.shape], of.element)
        return self.add("concatenate", (value, other), result, dimension=free), after

    def _part(self, value: Value, sizes: Sequence[int], free: int) -> Value:
        """Return some of the elements, from a start that is a parameter and has enough elements
        after it."""
        of = value.type
        assert isinstance(of, TensorType)
        taken = [1 + self.pick(size) if size else 0 for size in sizes]
        starts: list[Value] = []
        for dimension, (size, count) in enumerate(zip(sizes, taken, strict=True)):
            if dimension == free:
                starts.append(self.parameter("start", SIZE, f"within:0:{size - count}"))
            else:
                starts.append(self.number(self.pick(size - count + 1)))
        result = TensorType(tuple(taken), of.element)
        return self.add("dynamic_slice", (value, *starts), result, slice_sizes=tuple(taken))

    def _added(self, value: Value) -> Value:
        """Return the sum of all elements, read as integers with the same bits, which wrap."""
        of = value.type
        assert isinstance(of, TensorType)
        element = of.element
        if element.is_float:
            element = _NUMBERS[element.bits]
            value = self.add("bitcast_convert", (value,), replace(of, element_type=element))
        scalar, body = (
            TensorType((), element),
            fold_of("or" if element.bits == 1 else "add", element),
        )
        zero = self.number(0, scalar)
        return self.add(
            "reduce", (value, zero), scalar, body.region, dimensions=tuple(range(of.rank))
        )  # fmt: skip
