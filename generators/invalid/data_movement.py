"""Near misses of the ops of reference/ops/data_movement.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from generators.invalid.misses import Miss, Misses, program, tensor
from reference.ir.program import Program, QuantizedType, TensorType
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32, _F64, _SI8, _SI32, _SI64 = (
    ELEMENT_TYPES[name] for name in ("f32", "f64", "si8", "si32", "si64")
)
_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "si64", "i1", "bf16", "complex<f32>"))


def quantized_type(*shape: int, axis: int | None = None, storage: ElementType = _SI8) -> TensorType:
    """Return a quantized tensor type, with scales 0.5, 1.0, 1.5, ... along `axis`, if given."""
    count = 1 if axis is None else shape[axis]
    return TensorType(shape, steps(count, axis=axis, storage=storage))


def steps(
    count: int, axis: int | None = None, first: float = 0.5, storage: ElementType = _SI8
) -> QuantizedType:
    """Return a quantized element type with `count` scales, `first` times 1, 2, 3, ..."""
    scales = tuple(first * (number + 1) for number in range(count))
    low, high = storage.min_integer, storage.max_integer
    return QuantizedType(storage, low, high, _F32, scales, (0,) * count, axis)


Make = Callable[..., Program]
"""A function make(operands, results, **attributes): the program of one op."""


def broadcasts(make: Make) -> Iterator[Miss]:
    """Yield near misses of C1 to C6 of both broadcasts."""
    for of in _TYPES:
        good, result = {"operand": tensor(of, 2, 1)}, tensor(of, 3, 2, 4)
        other = _SI32 if of is not _SI32 else _F32
        yield "C1", make(good, (tensor(other, 3, 2, 4),), broadcast_dimensions=(1, 2))
        for dimensions in ((1,), (), (1, 2, 0)):
            yield "C2", make(good, (result,), broadcast_dimensions=dimensions)
        for dimensions in ((1, 3), (-1, 1), (1, 64)):
            yield "C3", make(good, (result,), broadcast_dimensions=dimensions)
        square = {"operand": tensor(of, 2, 2)}
        yield "C4", make(square, (tensor(of, 3, 2, 4),), broadcast_dimensions=(1, 1))
        yield "C4", make({"operand": tensor(of, 1, 1)}, (result,), broadcast_dimensions=(2, 2))
        yield "C5", make(good, (result,), broadcast_dimensions=(0, 1))
        yield "C5", make({"operand": tensor(of, 4)}, (tensor(of, 2),), broadcast_dimensions=(0,))
        yield "C5", make({"operand": tensor(of, 0)}, (tensor(of, 1),), broadcast_dimensions=(0,))
    yield from _quantized_broadcasts(make)


def _quantized_broadcasts(make: Make) -> Iterator[Miss]:
    per_tensor = {"operand": quantized_type(2, 3)}
    for element in (steps(1, first=0.25), steps(3, axis=2), _F32, steps(1, storage=_SI32)):
        result = TensorType((4, 2, 3), element)
        yield "C1", make(per_tensor, (result,), broadcast_dimensions=(1, 2))
    per_axis = {"operand": quantized_type(2, 3, axis=1)}
    result = TensorType((4, 2, 3), steps(1))
    yield "C1", make(per_axis, (result,), broadcast_dimensions=(1, 2))
    result = TensorType((4, 2, 3), steps(3, axis=2, storage=_SI32))
    yield "C1", make(per_axis, (result,), broadcast_dimensions=(1, 2))
    for axis in (0, 1):
        result = TensorType((4, 2, 3), steps((4, 2)[axis], axis=axis))
        yield "C6", make(per_axis, (result,), broadcast_dimensions=(1, 2))
    one = {"operand": quantized_type(2, 1, axis=1)}
    result = TensorType((2, 3), steps(3, axis=1))  # some scales differ from the operand's
    yield "C6", make(one, (result,), broadcast_dimensions=(0, 1))


def _broadcast_in_dim(op: str) -> Iterator[Miss]:
    yield from broadcasts(partial(program, op))


def _concatenate(op: str) -> Iterator[Miss]:
    """Yield near misses of C1, C2 (input types), C3 (no inputs), C4 (dimension), C5, C6
    (result)."""
    make = partial(program, op)
    axis = quantized_type(2, 3, axis=1)
    result = TensorType((4, 3), axis.element_type)
    yield "I1", make({"inputs0": axis, "inputs1": axis}, (result,), dimension=0)
    for of in _TYPES:
        one, result = tensor(of, 2, 3), tensor(of, 4, 3)
        other = _SI32 if of is not _SI32 else _F32
        pair = {"inputs0": one, "inputs1": one}
        yield "C1", make({"inputs0": one, "inputs1": tensor(other, 2, 3)}, (result,), dimension=0)
        for shape in ((2, 4), (2,), (2, 3, 1), (2, 0)):
            bad = {"inputs0": one, "inputs1": tensor(of, *shape)}
            yield "C2", make(bad, (result,), dimension=0)
        yield "C3", make({}, (tensor(of, 0, 3),), dimension=0)
        for dimension in (2, -1, 5):
            yield "C4", make(pair, (result,), dimension=dimension)
        scalars = {"inputs0": tensor(of), "inputs1": tensor(of)}
        yield "C4", make(scalars, (tensor(of, 2),), dimension=0)
        yield "C5", make(pair, (tensor(other, 4, 3),), dimension=0)
        for shape in ((2, 3), (4, 4), (5, 3), (4, 3, 1), (12,)):
            yield "C6", make(pair, (tensor(of, *shape),), dimension=0)
    codes = quantized_type(2, 3)
    other = TensorType((2, 3), steps(1, first=0.25))
    result = TensorType((4, 3), codes.element_type)
    yield "C1", make({"inputs0": codes, "inputs1": other}, (result,), dimension=0)
    pair, result = {"inputs0": codes, "inputs1": codes}, TensorType((4, 3), other.element_type)
    yield "C5", make(pair, (result,), dimension=0)


def _starts(tensor_type: TensorType, count: int) -> dict[str, TensorType]:
    return {f"start_indices{number}": tensor_type for number in range(count)}


def _dynamic_slice(op: str) -> Iterator[Miss]:
    """Yield near misses of I2, C2, C3 (indices), C4 (sizes), C1, C5 (type of the result)."""
    make, index = partial(program, op), tensor(_SI64)
    axis = quantized_type(4, 3, axis=1)
    result = TensorType((2, 3), axis.element_type)
    yield "I1", make({"operand": axis, **_starts(index, 2)}, (result,), slice_sizes=(2, 3))
    for of in _TYPES:
        operand, result = {"operand": tensor(of, 4, 3)}, tensor(of, 2, 3)
        good = {**operand, **_starts(index, 2)}
        for bad in (tensor(_F32), tensor(ELEMENT_TYPES["i1"]), tensor(_SI64, 1)):
            yield "I2", make({**operand, **_starts(bad, 2)}, (result,), slice_sizes=(2, 3))
        yield "C1", make(good, (tensor(_F64, 2, 3),), slice_sizes=(2, 3))
        for count in (0, 1, 3):
            few = {**operand, **_starts(index, count)}
            yield "C2", make(few, (result,), slice_sizes=(2, 3))
        yield "C2", make(good, (tensor(of, 2),), slice_sizes=(2,))
        yield "C2", make(good, (tensor(of, 2, 3, 1),), slice_sizes=(2, 3, 1))
        mixed = {**good, "start_indices1": tensor(_SI32)}
        yield "C3", make(mixed, (result,), slice_sizes=(2, 3))
        yield "C4", make(good, (tensor(of, 5, 3),), slice_sizes=(5, 3))
        yield "C4", make(good, (tensor(of, 4, 4),), slice_sizes=(4, 4))
        for shape in ((3, 3), (2, 2), (2,), (2, 3, 1), (4, 3)):
            yield "C5", make(good, (tensor(of, *shape),), slice_sizes=(2, 3))


def _dynamic_update_slice(op: str) -> Iterator[Miss]:
    """Yield near misses of I3, C4, C5 (indices), C2, C3, C6 (update), C1 (result)."""
    make, index = partial(program, op), tensor(_SI64)
    for of in _TYPES:
        full, update = tensor(of, 4, 3), tensor(of, 2, 3)
        given = {"operand": full, "update": update}
        good = {**given, **_starts(index, 2)}
        other = _SI32 if of is not _SI32 else _F32
        for bad in (tensor(_F32), tensor(ELEMENT_TYPES["i1"]), tensor(_SI64, 1)):
            yield "I3", make({**given, **_starts(bad, 2)}, (full,))
        for bad in (tensor(other, 4, 3), update, tensor(of, 4, 3, 1), tensor(of, 12)):
            yield "C1", make(good, (bad,))
        yield "C2", make({**good, "update": tensor(other, 2, 3)}, (full,))
        for shape in ((2,), (2, 3, 1), ()):
            yield "C3", make({**good, "update": tensor(of, *shape)}, (full,))
        for count in (0, 1, 3):
            yield "C4", make({**given, **_starts(index, count)}, (full,))
        yield "C5", make({**good, "start_indices0": tensor(_SI32)}, (full,))
        for shape in ((5, 3), (2, 4)):
            yield "C6", make({**good, "update": tensor(of, *shape)}, (full,))
    full = quantized_type(4, 3)
    good = {"operand": full, "update": quantized_type(2, 3), **_starts(index, 2)}
    yield "C1", make(good, (TensorType((4, 3), steps(1, first=0.25)),))
    bad = TensorType((2, 3), steps(1, first=0.25))
    yield "C2", make({**good, "update": bad}, (full,))


def _pad_program(
    op: str,
    operand: TensorType,
    value: TensorType,
    result: TensorType,
    *amounts: tuple[int, ...],
) -> Program:
    low, high, interior = amounts
    return program(
        op,
        {"operand": operand, "padding_value": value},
        (result,),
        edge_padding_low=low,
        edge_padding_high=high,
        interior_padding=interior,
    )


def _pad(op: str) -> Iterator[Miss]:
    """Yield near misses of I2, C1 (types), C2, C3 (amounts), C4 (shape of the result)."""
    good = ((0, 1), (2, 1), (1, 2))
    for of in _TYPES:
        make = partial(_pad_program, op, tensor(of, 2, 3))
        value, result = tensor(of), tensor(of, 5, 9)
        other = _SI32 if of is not _SI32 else _F32
        for shape in ((1,), (2, 3), (1, 1)):
            yield "I2", make(tensor(of, *shape), result, *good)
        yield "C1", make(tensor(other), result, *good)
        yield "C1", make(value, tensor(other, 5, 9), *good)
        yield "C2", make(value, result, (0,), (2, 1), (1, 2))
        yield "C2", make(value, result, (0, 1), (2, 1, 0), (1, 2))
        yield "C2", make(value, result, (0, 1), (2, 1), (1,))
        yield "C2", make(value, result, (0,), (2,), (1,))
        yield "C3", make(value, tensor(of, 2, 3), (0, 1), (1, 1), (-1, -1))
        yield "C3", make(value, tensor(of, 2, 3), (1, 1), (0, 1), (-1, -1))
        for shape in ((5, 8), (4, 9), (5,), (5, 9, 1), (9, 5), (2, 3)):
            yield "C4", make(value, tensor(of, *shape), *good)
        yield "C4", make(value, tensor(of, 0, 3), (-3, 0), (0, 0), (0, 0))  # to -1 elements
    make = partial(_pad_program, op, quantized_type(2, 3))
    result, other = quantized_type(5, 9), steps(1, first=0.25)
    yield "C1", make(TensorType((), other), result, *good)
    yield "C1", make(TensorType((), steps(1)), TensorType((5, 9), other), *good)


def reshapes(make: Make) -> Iterator[Miss]:
    """Yield near misses of C1 to C3 of both reshapes; the results have three dimensions."""
    for of in _TYPES:
        good, other = {"operand": tensor(of, 2, 3, 4)}, _SI32 if of is not _SI32 else _F32
        yield "C1", make(good, (tensor(other, 4, 3, 2),))
        for shape in ((4, 3, 3), (1, 1, 1), (2, 3, 0), (24, 2, 1)):
            yield "C2", make(good, (tensor(of, *shape),))
    before = {"operand": quantized_type(2, 3, 4, axis=1)}
    for element in (steps(1), steps(3, axis=1, first=0.25), steps(3, axis=1, storage=_SI32), _F32):
        yield "C1", make(before, (TensorType((2, 3, 4), element),))
    yield (
        "C1",
        make({"operand": quantized_type(2, 3, 4)}, (TensorType((4, 3, 2), steps(1, first=0.25)),)),
    )
    for shape, axis in (((4, 3, 2), 1), ((1, 3, 8), 1), ((3, 2, 4), 0), ((2, 4, 3), 2)):
        yield "C3", make(before, (TensorType(shape, steps(3, axis=axis)),))


def _reshape(op: str) -> Iterator[Miss]:
    yield from reshapes(partial(program, op))
    for of in _TYPES:
        for before, after in (((2, 3), (5,)), ((), (2,)), ((2,), ()), ((0,), (1,)), ((2, 2), (3,))):
            yield "C2", program(op, {"operand": tensor(of, *before)}, (tensor(of, *after),))


def _reverse(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (result), C2 (a dimension twice), C3 (no such dimension)."""
    make = partial(program, op)
    axis = quantized_type(2, 3, axis=1)
    yield "I1", make({"operand": axis}, (axis,), dimensions=(0,))
    for of in _TYPES:
        full = tensor(of, 2, 3)
        good, other = {"operand": full}, _SI32 if of is not _SI32 else _F32
        for bad in (tensor(other, 2, 3), tensor(of, 3, 2), tensor(of, 2, 3, 1), tensor(of, 6, 1)):
            yield "C1", make(good, (bad,), dimensions=(1, 0))
        for dimensions in ((1, 1), (0, 1, 0)):
            yield "C2", make(good, (full,), dimensions=dimensions)
        for dimensions in ((2,), (-1,), (0, 64)):
            yield "C3", make(good, (full,), dimensions=dimensions)
        yield "C3", make({"operand": tensor(of)}, (tensor(of),), dimensions=(0,))
    bad = TensorType((2, 3), steps(1, first=0.25))
    yield "C1", make({"operand": quantized_type(2, 3)}, (bad,), dimensions=(0,))


def _slice_program(
    op: str, operand: TensorType, result: TensorType, *indices: tuple[int, ...]
) -> Program:
    start, limit, strides = indices
    return program(
        op,
        {"operand": operand},
        (result,),
        start_indices=start,
        limit_indices=limit,
        strides=strides,
    )


def _slice(op: str) -> Iterator[Miss]:
    """Yield near misses of C2, C3, C4 (indices), C1, C5 (type of the result)."""
    axis = quantized_type(4, 5, axis=1)
    yield "I1", _slice_program(op, axis, axis, (0, 0), (4, 5), (1, 1))
    for of in _TYPES:
        make = partial(_slice_program, op, tensor(of, 4, 5))
        good, result = ((1, 0), (3, 5), (1, 2)), tensor(of, 2, 3)
        other = _SI32 if of is not _SI32 else _F32
        yield "C1", make(tensor(other, 2, 3), *good)
        yield "C2", make(result, (1,), (3, 5), (1, 2))
        yield "C2", make(result, (1, 0), (3,), (1, 2))
        yield "C2", make(result, (1, 0), (3, 5), (1, 2, 1))
        yield "C2", make(tensor(of, 2), (1,), (3,), (1,))
        for start, limit in (
            ((1, 0), (3, 6)),
            ((-1, 0), (1, 5)),
            ((3, 0), (1, 5)),
            ((5, 0), (5, 5)),
        ):
            yield "C3", make(result, start, limit, (1, 2))
        for strides in ((1, 0), (-1, 2), (0, 0)):
            yield "C4", make(result, (1, 0), (3, 5), strides)
        for shape in ((2, 2), (3, 3), (2, 5), (2,), (2, 3, 1)):
            yield "C5", make(tensor(of, *shape), *good)
    bad = TensorType((2, 3), steps(1, first=0.25))
    yield "C1", _slice_program(op, quantized_type(4, 5), bad, (1, 0), (3, 5), (1, 2))


def _transpose(op: str) -> Iterator[Miss]:
    """Yield near misses of C1 (element type), C2 (no permutation), C3 (shape), C4 (quantized
    axis)."""
    make = partial(program, op)
    for of in _TYPES:
        good, result = {"operand": tensor(of, 2, 3, 4)}, tensor(of, 4, 2, 3)
        other = _SI32 if of is not _SI32 else _F32
        yield "C1", make(good, (tensor(other, 4, 2, 3),), permutation=(2, 0, 1))
        for order in ((2, 0), (2, 0, 1, 3), (2, 0, 0), (3, 1, 2), (-1, 0, 1), ()):
            yield "C2", make(good, (result,), permutation=order)
        for shape in ((2, 3, 4), (4, 3, 2), (4, 2), (4, 2, 3, 1), (3, 4, 2)):
            yield "C3", make(good, (tensor(of, *shape),), permutation=(2, 0, 1))
    before = {"operand": quantized_type(2, 3, 4, axis=1)}
    for element in (steps(1), steps(3, axis=2, first=0.25), steps(3, axis=2, storage=_SI32)):
        yield "C1", make(before, (TensorType((4, 2, 3), element),), permutation=(2, 0, 1))
    result = TensorType((4, 3, 3), steps(3, axis=1))  # the wrong one of two dimensions of one size
    yield "C4", make({"operand": quantized_type(3, 3, 4, axis=1)}, (result,), permutation=(2, 0, 1))
    same = quantized_type(3, 3, axis=0)
    yield "C4", make({"operand": same}, (same,), permutation=(1, 0))


NEAR_MISSES: dict[str, Misses] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "transpose": _transpose,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {
    # element types must be equal (C2), so that both or no operands are quantized per axis
    "dynamic_update_slice": ("I1", "I2"),
    # the padding value has the operand's element type (C1): also per axis, which violates I2
    "pad": ("I1",),
}
"""Ids of constraints that are violated only with others, by op: see each comment."""
