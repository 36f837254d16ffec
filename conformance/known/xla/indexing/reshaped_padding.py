"""Reshapes that misread padding as elements.

A value of bounded dynamic size occupies the memory of its bound. XLA reshapes all of that memory,
then cuts it to the new sizes. That is right if the cut dimension stays outermost, and wrong
otherwise, because padding then lies between the elements.

Source: jaxlib 0.10.2 and 0.12, measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from conformance.transforms.replacing import replace_operations
from reference.ir.program import Operation, Program, TensorType, Value, attributes
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


def _reshape_padding(operation: Operation, whole: Value) -> Iterator[Operation]:
    """Yield a reshape of the uncut value, cut to the new sizes."""
    (result,) = operation.results
    of, prefix = result.type, f"{result.name}."
    assert isinstance(of, TensorType)
    full = _largest_sizes(of)
    assert full is not None
    dynamic = [number for number, size in enumerate(of.shape) if size is None]
    value = Value(f"{prefix}whole", TensorType(full, of.element_type))
    yield Operation("reshape", (whole,), (value,))
    for number in dynamic:
        *_, given = made = [*_size(operation, number, f"{prefix}{number}.")]
        yield from made
        last = number == dynamic[-1]
        cut = (
            result
            if last
            else Value(f"{prefix}cut{number}", _append_bounded_dimension(value.type, number))
        )
        size = given.results[0]
        yield Operation(_CUTS, (value, size), (cut,), attributes(dimension=number))
        value = cut


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


def _append_bounded_dimension(of: object, dimension: int) -> TensorType:
    """Return the type with one more dimension whose size has only a bound."""
    assert isinstance(of, TensorType)
    bounds = of.bounds or (None,) * len(of.shape)
    before, after = slice(dimension), slice(dimension + 1, None)
    return TensorType(
        (*of.shape[before], None, *of.shape[after]),
        of.element_type,
        (*bounds[before], of.shape[dimension], *bounds[after]),
    )


def _size(reshape: Operation, dimension: int, prefix: str) -> Iterator[Operation]:
    """Yield operations; the last gives the new size of a dimension."""
    sizes = reshape.operands[1]
    assert isinstance(sizes.type, TensorType)
    of = sizes.type.element_type
    one, scalar = Value(f"{prefix}one", TensorType((1,), of)), Value(prefix, TensorType((), of))
    start, limit = (dimension,), (dimension + 1,)
    given = attributes(start_indices=start, limit_indices=limit, strides=(1,))
    yield Operation("slice", (sizes,), (one,), given)
    yield Operation("reshape", (one,), (scalar,))
    yield Operation("convert", (scalar,), (Value(f"{prefix}size", SIZE),))
