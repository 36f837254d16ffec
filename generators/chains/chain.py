"""A program under construction, operation by operation: types are derived from operands.

Every addition is valid by construction: the op's record infers the result's type.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from generators.case.case import Case, InputRecipe
from generators.case.choices import Pick, choose
from generators.chains.guide import Guide
from generators.programs.building import constant
from generators.regions.bodies import number_of
from generators.values.contents import PROFILES, profiles_of
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    Value,
    ValueType,
    attributes,
    tensor_of,
)
from reference.ir.types import ELEMENT_TYPES, Array, ElementType
from reference.ops.structure import is_constant
from reference.ops.table import OPS

LARGEST = 1 << 12
"""Largest number of elements of values that are extended; patterns skip larger values."""

LARGEST_CONSTANT = 64
"""Largest number of elements of a constant with arbitrary contents; a larger constant is a
splat.
"""

PLAIN = "small_integers"
"""The value profile with which sums, products and moves are exact."""

_INPUT_SETS = (1, 2, 3)
_CORRELATIONS = ("independent",) * 6 + ("equal", "negated", "one_ulp")

BOOLEAN = ELEMENT_TYPES["i1"]


def size_of(tensor_type: TensorType) -> int:
    """Return the number of elements of a static tensor."""
    return math.prod(tensor_type.static_shape)


def element(value: Value) -> ElementType:
    """Return the element type of a value of a chain."""
    return tensor_of(value).element


def shape_of(value: Value) -> tuple[int, ...]:
    """Return the shape of a value of a chain."""
    return tensor_of(value).static_shape


@dataclass(slots=True)
class Chain:
    """A block under construction: choices, operations and available values.

    Available values are tensors of numbers; `codes` are main's quantized values. `exact` requests
    data with little rounding; `guide` draws rarely covered steps more often. `parameters` are
    main's parameters, with candidate profiles of their contents; nested blocks share them, and the
    names.
    """

    pick: Pick
    exact: bool = False
    arguments: tuple[Value, ...] = ()
    data: list[Value] = field(default_factory=list[Value])
    parameters: dict[Value, tuple[str, ...]] = field(default_factory=dict[Value, tuple[str, ...]])
    operations: list[Operation] = field(default_factory=list[Operation])
    functions: list[Function] = field(default_factory=list[Function])
    names: Iterator[int] = field(default_factory=itertools.count)
    guide: Guide = field(default_factory=Guide)
    codes: list[Value] = field(default_factory=list[Value])

    @property
    def length(self) -> int:
        """The number of operations, without constants."""
        return sum(not is_constant(operation) for operation in self.operations)

    def new_value(self, value_type: ValueType) -> Value:
        """Return a new value that no operation produces yet."""
        return Value(f"v{next(self.names)}", value_type)

    # --- Values ----------------------------------------------------------------------------------

    def parameter(self, tensor_type: TensorType, *profiles: str) -> Value:
        """Return a new parameter of main, filled by one of the profiles; without any, by a suitable
        profile.
        """
        value = self.new_value(tensor_type)
        self.parameters[value] = self._suitable_profiles(tensor_type.element, profiles)
        return value

    def restrict_profiles(self, value: Value, *profiles: str) -> None:
        """Restrict the contents of a value to these profiles if it is a parameter of main."""
        if value in self.parameters:
            self.parameters[value] = self._suitable_profiles(element(value), profiles)

    def allow_any_contents(self, value: Value) -> None:
        """Allow any contents of a value if it is a parameter of main.

        For operations that overflow or round anyway.
        """
        if value in self.parameters:
            self.parameters[value] = profiles_of(element(value))

    def _suitable_profiles(
        self, element_type: ElementType, profiles: Sequence[str]
    ) -> tuple[str, ...]:
        general = all(name in PROFILES and PROFILES[name].general for name in profiles)
        found = tuple(profiles) or profiles_of(element_type)
        if self.exact and general and not element_type.is_boolean:
            whole = element_type.is_integer  # integers wrap, and do not round
            return (*(PLAIN,) * len(found), *found) if whole else (PLAIN,)
        return found

    def constant(self, array: Array, tensor_type: TensorType) -> Value:
        """Return a constant with these elements."""
        return self.op("constant", to=tensor_type, value=Dense.of(array, tensor_type))

    def number(self, number: float, tensor_type: TensorType) -> Value:
        """Return a constant with this number, rounded to the type, in every element."""
        one = number_of(number, tensor_type.element)
        return self.constant(np.broadcast_to(one, tensor_type.static_shape), tensor_type)

    def draw_constant(self, tensor_type: TensorType) -> Value:
        """Return a constant with drawn contents."""
        splat = size_of(tensor_type) > LARGEST_CONSTANT or self.pick(3) == 2
        profile = choose(self.pick, self._suitable_profiles(tensor_type.element, ()))
        value = constant(tensor_type, profile, self.pick(1 << 32), splat=splat)
        return self.op("constant", to=tensor_type, value=value)

    def pick_value(self) -> Value:
        """Return an available value, mostly a recent value."""
        last = len(self.data) - 1
        return self.data[last - min(self.pick(len(self.data)), self.pick(len(self.data)))]

    def producer_of(self, value: Value) -> str:
        """Return the op that produces a value; "" for a parameter."""
        producers = (o.name for o in reversed(self.operations) if value in o.results)
        return next(producers, "")

    def value_of(self, tensor_type: TensorType) -> Value:
        """Return a value of this type: an available value, a constant, or a new parameter."""
        available = [value for value in self.data if value.type == tensor_type]
        kind = self.pick(6)
        if available and kind < 3:
            return available[self.pick(len(available))]
        if kind == 3:
            return self.draw_constant(tensor_type)
        if kind == 4:
            number = choose(self.pick, (0, 1, 2, -1, 3))
            return self.number(number, tensor_type)
        return self.parameter(tensor_type)

    # --- Operations ------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        *operands: Value,
        to: TensorType | None = None,
        regions: tuple[Region, ...] = (),
        **given: Any,
    ) -> Value:
        """Add an operation and return its result; `to` is its type if operands do not imply it."""
        record = OPS[name]
        if to is None:
            types = (operand.type for operand in operands)
            found: Any = record.infer(*types, regions=regions, **given)
            to = found[0] if record.several else found
        assert to is not None
        return self.ops(name, operands, (to,), regions, **given)[0]

    def ops(
        self,
        name: str,
        operands: Sequence[Value],
        types: Sequence[ValueType],
        regions: tuple[Region, ...] = (),
        **given: Any,
    ) -> tuple[Value, ...]:
        """Add an operation and return its results, of these types."""
        results = tuple(map(self.new_value, types))
        stated = attributes(**given)
        self.operations.append(Operation(name, tuple(operands), results, stated, regions))
        return results

    def compare(self, lhs: Value, rhs: Value, direction: str) -> Value:
        """Add a comparison, by the default order of the type."""
        return self.op("compare", lhs, rhs, comparison_direction=direction)

    def convert(self, value: Value, to: ElementType) -> Value:
        """Add a conversion to another element type."""
        return self.op("convert", value, to=TensorType(shape_of(value), to))

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """Add a reshape to another shape."""
        return self.op("reshape", value, to=TensorType(tuple(shape), element(value)))

    def broadcast(self, value: Value, shape: Sequence[int], *dimensions: int) -> Value:
        """Add a broadcast along the dimensions that are not given."""
        to = TensorType(tuple(shape), element(value))
        return self.op("broadcast_in_dim", value, to=to, broadcast_dimensions=dimensions)

    # --- Blocks ----------------------------------------------------------------------------------

    def nested_block(self, *types: TensorType) -> Chain:
        """Return a nested block, which sees all values, with arguments of these types."""
        arguments = tuple(map(self.new_value, types))
        data = [*self.data, *arguments]
        return Chain(
            self.pick, self.exact, arguments, data, self.parameters, [], self.functions, self.names,
            self.guide,
        )  # fmt: skip

    def isolated_block(self, *types: TensorType) -> Chain:
        """Return a block without access to outer values, with arguments of these types."""
        inner = self.nested_block(*types)
        inner.data = list(inner.arguments)
        return inner

    def finish_region(self, *results: Value) -> Region:
        """Return the region with the operations of this block, and these results."""
        return Region(self.arguments, (*self.operations, Operation("return", results)))

    def add_function(self, body: Chain, *results: Value) -> str:
        """Add a function with this body and return its name."""
        name = f"f{next(self.names)}"
        types = tuple(value.type for value in results)
        self.functions.append(Function(name, body.finish_region(*results), types))
        return name

    def case(self, results: Sequence[Value]) -> Case:
        """Return the case of the program that returns these values, with recipes for its inputs."""
        types = tuple(value.type for value in results)
        used = self.used_names() | {value.name for value in results}
        parameters = [value for value in self.parameters if value.name in used]
        region = Region(tuple(parameters), self.finish_region(*results).operations)
        program = Program((Function("main", region, types), *self.functions))
        if not parameters:
            return Case(program, (InputRecipe((), 0),))
        seed, recipes = self.pick(1 << 32), list[InputRecipe]()
        for number in range(choose(self.pick, _INPUT_SETS)):
            profiles = tuple(choose(self.pick, self.parameters[value]) for value in parameters)
            related = "independent" if self.exact else choose(self.pick, _CORRELATIONS)
            recipes.append(InputRecipe(profiles, seed + number, related))
        return Case(program, tuple(recipes))

    def used_names(self) -> set[str]:
        """Return the names of the values that operations use, including those in regions."""
        whole = Program((Function("", Region((), tuple(self.operations)), ()),))
        return {value.name for operation in whole.walk() for value in operation.operands}
