"""Result types of reduce, reduce_window, select_and_scatter and map.

Every constraint is checked under the specification's id; an id that presupposes another is checked
only if that holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from reference.ir.constraints import require
from reference.ir.notation import (
    are_dimensions,
    is_promotable,
    is_unique,
    join_with_commas,
    same_shape,
)
from reference.ir.program import Dense, QuantizedType, Region, TensorType
from reference.ir.regions import argument_types, output_types
from reference.ir.types import ElementType
from reference.numerics.contributions import count_windows
from reference.ops.elementwise.types import ANY_PER_TENSOR, BOOLEAN

Types = tuple[TensorType, ...]
Element = ElementType | QuantizedType


def _signature(region: Region) -> str:
    takes, gives = argument_types(region), output_types(region)
    return f"({join_with_commas(*takes)}) -> ({join_with_commas(*gives)})"


def _scalars(region: Region) -> tuple[tuple[Element, ...], tuple[Element, ...]] | None:
    """Return element types of a region's arguments and results; None if any is not a scalar."""
    found: list[tuple[Element, ...]] = []
    for types in (argument_types(region), output_types(region)):
        scalars = [of for of in types if isinstance(of, TensorType) and of.rank == 0]
        if len(scalars) != len(types):
            return None
        found.append(tuple(of.element_type for of in scalars))
    return found[0], found[1]


def _body_elements(label: str, body: Region, inputs: Types) -> tuple[Element, ...] | None:
    """Return E0, ..., EN-1 of a body that satisfies constraint `label`, else None."""
    scalars = _scalars(body)
    fits = False
    given: tuple[Element, ...] = ()
    if scalars is not None:
        given, returned = scalars[0][: len(inputs)], scalars[1]
        fits = scalars[0] == given * 2 and returned == given and len(given) == len(inputs)
        fits = fits and all(
            is_promotable(of.element_type, to) for of, to in zip(inputs, given, strict=True)
        )
    return given if require(label, fits, _signature(body)) else None


def _check_inputs(inputs: Types, init_values: Types) -> None:
    require("I1", all(of in ANY_PER_TENSOR for of in inputs), join_with_commas(*inputs))
    scalars = all(of in ANY_PER_TENSOR and of.rank == 0 for of in init_values)
    require("I2", scalars, join_with_commas(*init_values))


def _same_elements(label: str, inputs: Types, init_values: Types) -> None:
    pairs = zip(inputs, init_values, strict=False)
    same = all(of.element_type == init.element_type for of, init in pairs)
    require(label, same, join_with_commas(*inputs, *init_values))


def reduce_type(
    inputs: Types,
    init_values: Types,
    *,
    dimensions: Sequence[int],
    body: Region,
    results: Types | None = None,
) -> Types:
    """Return the result types of `reduce`: shapes without `dimensions`, the body's elements.

    Raises:
        ConstraintViolation: I1, I2 (not per-tensor, or init value not a scalar), C1 (shapes), C2
            (element types), C3 (numbers), C4, C5 (dimensions), C6 (body), C7, C8 (results).
    """
    _check_inputs(inputs, init_values)
    count = len(inputs)
    number = len(init_values) == count and (results is None or len(results) == count)
    if not require("C3", count > 0 and number, join_with_commas(*inputs)):
        return results or ()
    require("C1", same_shape(*inputs), join_with_commas(*inputs))
    _same_elements("C2", inputs, init_values)
    inside = are_dimensions(dimensions, inputs[0].rank)
    require("C4", inside, f"{tuple(dimensions)} of {inputs[0]}")
    require("C5", is_unique(dimensions), tuple(dimensions))
    elements = _body_elements("C6", body, inputs)
    shapes = [tuple(n for d, n in enumerate(of.shape) if d not in dimensions) for of in inputs]
    if results is not None and inside:
        pairs = zip(results, shapes, strict=True)
        fits = all(same_shape(of, TensorType(shape, BOOLEAN)) for of, shape in pairs)
        require("C7", fits, join_with_commas(*inputs, *results))
    if elements is None:
        return results or inputs
    if results is not None:
        _result_elements("C8", results, elements)
    return results or tuple(map(TensorType, shapes, elements))


def _result_elements(label: str, results: Types, elements: tuple[Element, ...]) -> None:
    given = tuple(of.element_type for of in results)
    require(
        label, given == elements, f"{join_with_commas(*results)}; {join_with_commas(*elements)}"
    )


def _per_dimension(
    ids: tuple[str, str], given: Sequence[int] | None, rank: int, what: str
) -> tuple[int, ...] | None:
    """Return an attribute with a positive number per dimension; all 1 if it is omitted."""
    if given is None:
        return (1,) * rank
    sized = require(ids[0], len(given) == rank, f"{what} = {tuple(given)}")
    positive = require(ids[1], all(n > 0 for n in given), f"{what} = {tuple(given)}")
    return tuple(given) if sized and positive else None


def _padding(label: str, padding: Dense | None, rank: int) -> list[tuple[int, int]] | None:
    if padding is None:
        return [(0, 0)] * rank
    if not require(label, padding.type.shape == (rank, 2), padding.type):
        return None
    pairs: list[list[int]] = padding.array.tolist()
    return [(low, high) for low, high in pairs]


def _num_windows(
    shape: tuple[int | None, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    base: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: list[tuple[int, int]],
) -> tuple[int | None, ...]:
    rest = zip(window, strides, base, dilations, padding, strict=True)
    return tuple(
        None if size is None else count_windows(size, *of)
        for size, of in zip(shape, rest, strict=True)
    )


def reduce_window_type(
    inputs: Types,
    init_values: Types,
    *,
    body: Region,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Dense | None = None,
    results: Types | None = None,
) -> Types:
    """Return the result types of `reduce_window`: one element per window, of the body's types.

    Raises:
        ConstraintViolation: I1, I2 (not per-tensor, or init value not a scalar), C1 (numbers), C2
            (shapes), C3 (element types), C4 to C12 (attributes), C13 (body), C14 to C16 (results).
    """
    _check_inputs(inputs, init_values)
    count = len(inputs)
    number = len(init_values) == count and (results is None or len(results) == count)
    if not require("C1", count > 0 and number, join_with_commas(*inputs)):
        return results or ()
    require("C2", same_shape(*inputs), join_with_commas(*inputs))
    _same_elements("C3", inputs, init_values)
    shape, rank = inputs[0].shape, inputs[0].rank
    window = _per_dimension(("C4", "C5"), window_dimensions, rank, "window_dimensions")
    strides = _per_dimension(("C6", "C7"), window_strides, rank, "window_strides")
    base = _per_dimension(("C8", "C9"), base_dilations, rank, "base_dilations")
    dilations = _per_dimension(("C10", "C11"), window_dilations, rank, "window_dilations")
    pads = _padding("C12", padding, rank)
    elements = _body_elements("C13", body, inputs)
    if results is not None:
        require("C14", same_shape(*results), join_with_commas(*results))
    if window is None or strides is None or base is None or dilations is None or pads is None:
        return results or inputs
    sizes = _num_windows(shape, window, strides, base, dilations, pads)
    if results is not None:
        fits = same_shape(results[0], TensorType(sizes, BOOLEAN))
        require("C15", fits, f"{join_with_commas(*results)}; windows: {sizes}")
        if elements is not None:
            _result_elements("C16", results, elements)
    return results or tuple(TensorType(sizes, of) for of in elements or ())


def select_and_scatter_type(
    operand: TensorType,
    source: TensorType,
    init_value: TensorType,
    *,
    select: Region,
    scatter: Region,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Dense | None = None,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `select_and_scatter`: the operand's shape, `scatter`'s elements.

    Raises:
        ConstraintViolation: I1 to I3, C1 (element types), C2 (shape of the source), C3 (init
            value), C4 to C8 (attributes), C9, C10 (functions), C11, C12 (result).
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("I2", source in ANY_PER_TENSOR, source)
    scalar = init_value in ANY_PER_TENSOR and init_value.rank == 0
    require("I3", scalar, init_value)
    element_type = operand.element_type
    require("C1", source.element_type == element_type, join_with_commas(operand, source))
    require("C3", init_value.element_type == element_type, join_with_commas(operand, init_value))
    rank, ones = operand.rank, (1,) * operand.rank
    window = _per_dimension(("C4", "C5"), window_dimensions, rank, "window_dimensions")
    strides = _per_dimension(("C6", "C7"), window_strides, rank, "window_strides")
    pads = _padding("C8", padding, rank)
    if window is not None and strides is not None and pads is not None:
        sizes = _num_windows(operand.shape, window, strides, ones, ones, pads)
        fits = same_shape(source, TensorType(sizes, BOOLEAN))
        require("C2", fits, f"{source}; windows: {sizes}")
    require(
        "C9", _scalars(select) == ((element_type, element_type), (BOOLEAN,)), _signature(select)
    )
    elements = _body_elements("C10", scatter, (operand,))
    if result is not None:
        require("C11", same_shape(result, operand), join_with_commas(operand, result))
        if elements is not None:
            _result_elements("C12", (result,), elements)
    return result or TensorType(operand.shape, elements[0] if elements else element_type)


def map_type(
    inputs: Types,
    *,
    dimensions: Sequence[int],
    computation: Region,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `map`: the inputs' shape, elements that `computation` returns.

    Raises:
        ConstraintViolation: I1, C1 (shapes), C2 (no inputs), C3 (dimensions), C4 (computation).
    """
    require("I1", all(of in ANY_PER_TENSOR for of in inputs), join_with_commas(*inputs))
    if not require("C2", len(inputs) > 0, "no inputs"):
        return result or TensorType((), BOOLEAN)
    shapes = (*inputs, result) if result is not None else inputs
    require("C1", same_shape(*shapes), join_with_commas(*shapes))
    every = tuple(range(inputs[0].rank))
    require("C3", tuple(dimensions) == every, f"{tuple(dimensions)} of {inputs[0]}")
    scalars = _scalars(computation)
    given = tuple(of.element_type for of in inputs)
    fits = scalars is not None and scalars[0] == given and len(scalars[1]) == 1
    if result is not None:
        fits = fits and scalars is not None and scalars[1] == (result.element_type,)
    require("C4", fits, f"{join_with_commas(*inputs)}; {_signature(computation)}")
    if result is not None:
        return result
    return TensorType(inputs[0].shape, scalars[1][0] if fits and scalars else given[0])
