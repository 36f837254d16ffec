"""Reshapes that misread padding as elements.

A value of bounded dynamic size occupies the memory of its bound. XLA reshapes all of that memory,
then cuts it to the new sizes. That is right if the cut dimension stays outermost, and wrong
otherwise, because padding then lies between the elements.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from conformance.known.writing import OperationWriter
from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, tensor_of
from reference.ops.dynamism import SIZE

LABEL = "padding reshaped"

_CUTS, _RESHAPES = "set_dimension_size", "dynamic_reshape"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program with misread reshapes, if it has any dynamic reshape."""
    operations = program.main.body.operations
    makers = {value.name: one for one in operations for value in one.results}
    wholes = [(one, whole) for one in operations if (whole := _whole(one, makers)) is not None]
    if wholes:
        reshaped = [(one, tuple(_reshape_padding(one, whole))) for one, whole in wholes]
        yield (replace_operations(program, reshaped),)


def concerns(operation: Operation) -> bool:
    """Return whether the operation is a dynamic reshape, which may misread padding."""
    return operation.name == _RESHAPES


def _reshape_padding(operation: Operation, whole: Value) -> list[Operation]:
    """Return a reshape of the uncut value, cut to the new sizes."""
    (result,) = operation.results
    of, writer = tensor_of(result), OperationWriter(result.name)
    full = _largest_sizes(of)
    assert full is not None
    *others, last = [number for number, size in enumerate(of.shape) if size is None]
    value = writer.add("reshape", (whole,), shape=full)
    for number in others:
        cut = replace(result, name=f"{result.name}.cut{number}", type=_with_bound(value, number))
        size = _size(writer, operation, number)
        value = writer.define(cut, _CUTS, (value, size), dimension=number)
    writer.define(result, _CUTS, (value, _size(writer, operation, last)), dimension=last)
    return writer.operations


def _whole(operation: Operation, makers: Mapping[str, Operation]) -> Value | None:
    """Return the uncut value of the operand, which has as many elements as the result's bounds."""
    if not concerns(operation):
        return None
    maker = makers.get(operation.operands[0].name)
    if maker is None or maker.name != _CUTS:
        return None
    before, after = maker.operands[0].type, operation.results[0].type
    if not isinstance(before, TensorType) or not isinstance(after, TensorType):
        return None
    most = _largest_sizes(after)
    if not before.is_static or most is None or math.prod(before.static_shape) != math.prod(most):
        return None
    return maker.operands[0]


def _largest_sizes(of: TensorType) -> tuple[int, ...] | None:
    """Return known sizes and the bounds of unknown sizes; None without bounds."""
    pairs = zip(of.shape, of.bounds or of.shape, strict=True)
    sizes = tuple(bound if size is None else size for size, bound in pairs)
    known = tuple(size for size in sizes if size is not None)
    return known if of.bounds and len(known) == len(sizes) else None


def _with_bound(value: Value, dimension: int) -> TensorType:
    """Return the type of a value, with only a bound of a dimension's size."""
    of = tensor_of(value)
    bounds = of.bounds or (None,) * len(of.shape)
    before, after = slice(dimension), slice(dimension + 1, None)
    return TensorType(
        (*of.shape[before], None, *of.shape[after]),
        of.element_type,
        (*bounds[before], of.shape[dimension], *bounds[after]),
    )


def _size(writer: OperationWriter, reshape: Operation, dimension: int) -> Value:
    """Add operations that give the new size of a dimension."""
    one = writer.slice(reshape.operands[1], (dimension,), (dimension + 1,))
    return writer.add("convert", (writer.add("reshape", (one,), shape=()),), SIZE.element)
