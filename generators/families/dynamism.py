"""Cases of the ops of reference/ops/dynamism.py, and values with bounded sizes.

Shapes and paddings are constants or parameters, of every integer type that can hold them; result
sizes are known or not. XLA translates foldable cases to static ops: most cases are foldable by
design, and some are not.

Backends require results of static shapes. So a value with bounded sizes is observed as data: some
of its elements, if it has that many; the sum of all elements as bits; or its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import axis, shape
from generators.families import data_movement as movement
from generators.programs.building import Builder, case, constant, inputs
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

UNOBSERVED = "nothing"
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


def observations_of(element_type: ElementType) -> tuple[str, ...]:
    """Return the possible observations of values of an element type."""
    adds = not element_type.is_complex and element_type.bits in (1, *_NUMBERS)
    return (COUNT, PART, PART, REVERSED, JOINED) + (ALL,) * adds


@dataclass(slots=True)
class Writer:
    """Writer of main: its operations so far, and its parameters with the profile of each."""

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
        """Append an operation and return its result."""
        value = Value(f"r{len(self.operations)}", result)
        one = Operation(name, tuple(operands), (value,), attributes(**given), regions)
        self.operations.append(one)
        return value

    def number(self, value: Any, of: TensorType = SIZE) -> Value:
        """Return a constant of a type, filled with a number."""
        array = np.asarray(value, of.storage).reshape(of.static_shape)
        return self.add("constant", (), of, value=Dense.of(array, of))

    def case(self, result: Value, rows: Sequence[ProfileRow]) -> Case:
        """Return the case whose main returns this; the rows give its first parameter's profiles."""
        assert isinstance(result.type, TensorType)
        self.pick.has_empty_results = 0 in result.type.static_shape
        operations = (*self.operations, Operation("return", (result,)))
        placed = (*self.parameters,)
        main = Function("main", Region(placed, operations), (result.type,))
        others = tuple(self.parameters.values())[1:]
        filled = tuple((row[0], *others) for row in rows)
        return Case(Program((main,)), inputs(self.pick, placed, filled))

    def observe(self, value: Value, sizes: Sequence[int], observation: str) -> Value:
        """Return the observation of a value with these sizes."""
        if observation == ALL:
            return self._sum_as_integers(value)
        of = value.type
        assert isinstance(of, TensorType)
        free = next((d for d, size in enumerate(of.shape) if size is None), 0)
        if observation == COUNT:
            return self.add("get_dimension_size", (value,), SIZE, dimension=free)
        if observation == REVERSED:
            value = self.add("reverse", (value,), of, dimensions=(free,))
        if observation == JOINED:
            value, sizes = self._concatenate_bounds(value, sizes, free)
        return self._slice_elements(value, sizes, free)

    def _concatenate_bounds(
        self, value: Value, sizes: Sequence[int], free: int
    ) -> tuple[Value, list[int]]:
        """Return the value, extended along its dynamic dimension by a constant of its bounds."""
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

    def _slice_elements(self, value: Value, sizes: Sequence[int], free: int) -> Value:
        """Return a slice whose start is a parameter, in range for these sizes."""
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

    def _sum_as_integers(self, value: Value) -> Value:
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


Given = dict[str, tuple[int, ...]]

_SELDOM = 32
"""One case in `_SELDOM` is of a kind that XLA does not translate: a batch that contains it is
refused and must be split.
"""

_BYTE = 8

WHOLE = "the operand"
"""The name of the observation of an operand whose size is set to its current value."""


class Numbers(NamedTuple):
    """Operands that hold numbers: their types, all of one integer type, and their profiles.

    `misread`: whether StableHLO's verifier and folding, which read every integer as signed, would
    see other numbers in constants of that type. They do not read parameters.
    """

    types: dict[str, TensorType]
    row: ProfileRow
    misread: bool


def _numbers(pick: Pick, given: Given, *, misread: bool = True) -> Numbers:
    """Return operands for these numbers.

    Their type is drawn from those that can hold the numbers; if not `misread`, from those whose
    signed reading can.
    """
    every = [number for numbers in given.values() for number in numbers]
    low, high = min(every, default=0), max(every, default=0)
    fitting = [
        of
        for of in movement.INDEX_TYPES
        if of.min_integer <= low and high <= (of.max_integer if misread else _largest_signed(of))
    ]
    of = choose(pick, fitting, "number type", movement.index_label)
    types = {name: TensorType((len(numbers),), of) for name, numbers in given.items()}
    profiles = tuple("values:" + ",".join(map(str, numbers)) for numbers in given.values())
    return Numbers(types, profiles, high > _largest_signed(of))


def _largest_signed(element_type: ElementType) -> int:
    """Return the largest number of a signed type of the same width."""
    return (1 << (element_type.bits - 1)) - 1


def _forget_sizes(pick: Pick, given: Sequence[int]) -> tuple[int | None, ...]:
    """Return the shape with some sizes, at least one, unknown before execution."""
    if not given:
        return ()
    unknown = {pick(len(given)) for _ in range(1 + pick(len(given)))}
    return tuple(None if d in unknown else size for d, size in enumerate(given))


def _foldable_case(
    op: str,
    pick: Pick,
    operands: dict[str, TensorType],
    numbers: Numbers,
    result: TensorType,
    attributes_: dict[str, tuple[int, ...]] | None = None,
    *,
    always: bool,
) -> Case:
    """Return a case that XLA translates if the numbers are constants, as they mostly are.

    XLA requires constants `always`, or only for a result of unknown sizes.
    """
    unknown = seldom(pick, 4, "result sizes unknown", paired=False) and not (
        numbers.misread and not always
    )
    if result.element.bits < _BYTE and pick(_SELDOM) < _SELDOM - 1:
        unknown = (
            False  # jax 0.12 crashes when it fetches a result of unknown size in packed elements
        )
    if unknown:
        result = TensorType(_forget_sizes(pick, result.static_shape), result.element)
    rows = movement.rows(result.element, numbers.row, times=len(operands))
    types, given = {**operands, **numbers.types}, dict(attributes_ or {})
    if (always or unknown) and not seldom(pick, _SELDOM, "numbers come late", paired=False):
        return case(pick, op, types, (result,), rows, dict(given), constants=numbers.types)
    parameters = numbers.types if numbers.misread else ()
    return case(
        pick,
        op,
        types,
        (result,),
        rows,
        dict(given),
        parameters=parameters,
        unplanned=numbers.types,
    )


def _dynamic_broadcast_in_dim(op: str, element_type: ElementType, pick: Pick) -> Case:
    found = movement.broadcast(pick)
    given: dict[str, tuple[int, ...]] = {"broadcast_dimensions": found.dimensions}
    if seldom(pick, 3, "known dimensions"):  # for each, none or the actual dimensions
        said = [choose(pick, (True, True, False)) for _ in found.before]
        pairs = list(zip(found.before, found.dimensions, strict=True))
        grows = [size != found.after[d] for size, d in pairs]
        expanding = [
            d for d, (says, grow) in enumerate(zip(said, grows, strict=True)) if says and grow
        ]
        kept = [
            d for d, (says, grow) in enumerate(zip(said, grows, strict=True)) if says and not grow
        ]
        given["known_expanding_dimensions"] = tuple(expanding)
        given["known_nonexpanding_dimensions"] = tuple(kept)
    result = TensorType(found.after, element_type)
    types = {"operand": TensorType(found.before, element_type)}
    numbers = _numbers(pick, {"output_dimensions": found.after})
    return _foldable_case(op, pick, types, numbers, result, given, always=False)


def _dynamic_iota(op: str, element_type: ElementType, pick: Pick) -> Case:
    sizes = shape(pick, min_rank=1)
    numbers = _numbers(pick, {"output_shape": sizes})
    result = TensorType(
        _forget_sizes(pick, sizes) if pick(_SELDOM) == _SELDOM - 1 else sizes, element_type
    )
    given = {"iota_dimension": axis(pick, len(sizes), "iota_dimension")}
    parameters = numbers.types if numbers.misread else ()
    types, rows = numbers.types, (numbers.row,)
    return case(pick, op, types, (result,), rows, dict(given), parameters=parameters)


def _dynamic_pad(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand, value = TensorType(shape(pick), element_type), TensorType((), element_type)
    found = movement.padding(
        pick, operand.static_shape, negative=not seldom(pick, 3, "never negative")
    )
    amounts = {
        "edge_padding_low": found.low,
        "edge_padding_high": found.high,
        "interior_padding": found.interior,
    }
    numbers = _numbers(pick, amounts, misread=False)
    types, result = (
        {"operand": operand, "padding_value": value},
        TensorType(found.sizes, element_type),
    )
    return _foldable_case(op, pick, types, numbers, result, always=True)


def _dynamic_reshape(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    sizes = movement.other_shape(pick, operand.static_shape)
    numbers = _numbers(pick, {"output_shape": sizes})
    result = TensorType(
        _forget_sizes(pick, sizes) if pick(_SELDOM) == _SELDOM - 1 else sizes, element_type
    )
    types, rows = {"operand": operand, **numbers.types}, movement.rows(element_type, numbers.row)
    parameters = numbers.types if numbers.misread else ()
    return case(pick, op, types, (result,), rows, parameters=parameters)


def _get_dimension_size(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick, min_rank=1), element_type)
    given = {"dimension": axis(pick, operand.rank, "dimension")}
    return case(pick, op, {"operand": operand}, (SIZE,), movement.rows(element_type), dict(given))


def _real_dynamic_slice(op: str, element_type: ElementType, pick: Pick) -> Case:
    operand = TensorType(shape(pick), element_type)
    found = movement.window(pick, operand.static_shape)
    indices = {
        "start_indices": found.start,
        "limit_indices": found.limit,
        "strides": found.strides,
    }
    numbers, result = _numbers(pick, indices), TensorType(found.sizes, element_type)
    return _foldable_case(op, pick, {"operand": operand}, numbers, result, always=True)


def _set_dimension_size(op: str, element_type: ElementType, pick: Pick) -> Case:
    """Return a case that sets the full size, or a smaller size whose result is observed.

    A module's results have static shapes, so the remaining elements cannot be a result.
    """
    sizes = shape(pick, min_rank=1)
    dimension = axis(pick, len(sizes), "dimension")
    operand, given = TensorType(sizes, element_type), {"dimension": dimension}
    observations = observations_of(element_type)
    observation = choose(pick, (*[WHOLE] * len(observations), *observations), "observation")
    if observation == WHOLE:
        rows = movement.rows(element_type, (f"values:{sizes[dimension]}",))
        types = {"operand": operand, "size": SIZE}
        return case(pick, op, types, (operand,), rows, dict(given))
    writer = Writer(pick)
    whole = writer.parameter("operand", operand, "")
    left = pick(sizes[dimension] + 1)
    if seldom(pick, 4, "size is constant"):
        size = writer.number(left)
    else:
        size = writer.parameter("size", SIZE, f"values:{left}")
    free = [d == dimension for d in range(len(sizes))]
    cut = writer.add(op, (whole, size), bounded_type(sizes, free, element_type), **given)
    now = tuple(left if d == dimension else n for d, n in enumerate(sizes))
    return writer.case(writer.observe(cut, now, observation), movement.rows(element_type))


_BUILD = {
    "dynamic_broadcast_in_dim": _dynamic_broadcast_in_dim,
    "dynamic_iota": _dynamic_iota,
    "dynamic_pad": _dynamic_pad,
    "dynamic_reshape": _dynamic_reshape,
    "get_dimension_size": _get_dimension_size,
    "real_dynamic_slice": _real_dynamic_slice,
    "set_dimension_size": _set_dimension_size,
}

BUILDERS: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""The builder of each op's cases."""
