"""Near misses of the ops of reference/ops/indexed/gathering.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from generators.invalid.data_movement import quantized_type
from generators.invalid.misses import Miss, Misses, tensor
from generators.regions.bodies import BodyBuilder
from reference.ir.program import Attribute, Dense, Program, Region, TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES, ElementType

_F32, _F64, _I1, _SI32, _SI64 = (
    ELEMENT_TYPES[name] for name in ("f32", "f64", "i1", "si32", "si64")
)
_TYPES = tuple(ELEMENT_TYPES[name] for name in ("f32", "si64", "bf16", "complex<f32>"))
_NO_INTEGERS = (_F32, _I1)

Build = Callable[..., Program]
"""A function build(**changed attributes): the program with these attributes changed."""


def _build_program(
    op: str,
    operands: dict[str, TensorType],
    results: tuple[TensorType, ...],
    given: dict[str, Attribute],
    regions: tuple[Region, ...] = (),
) -> Program:
    values = tuple(Value(name, of) for name, of in operands.items())
    return single_op(op, values, results, given, regions)


def _replace_attributes(given: dict[str, Attribute], **other: Attribute) -> dict[str, Attribute]:
    return given | other


# --- gather --------------------------------------------------------------------------------------


def _slice_program(
    op: str,
    operand: TensorType,
    start_indices: TensorType,
    result: TensorType,
    given: dict[str, Attribute],
    **other: Attribute,
) -> Program:
    return _build_program(
        op, {"operand": operand, "start_indices": start_indices}, (result,), given | other
    )


_PAIRED: dict[str, Attribute] = {
    "offset_dims": (3, 4), "collapsed_slice_dims": (1,), "operand_batching_dims": (0,),
    "start_indices_batching_dims": (1,), "start_index_map": (2, 1), "index_vector_dim": 3,
    "slice_sizes": (1, 1, 2, 2), "indices_are_sorted": False,
}  # fmt: skip
"""One batching and one collapsed dimension, of a 2x3x4x2 operand and 3x2x5x2 indices."""

_TWICE = _replace_attributes(
    _PAIRED, collapsed_slice_dims=(), operand_batching_dims=(0, 1),
    start_indices_batching_dims=(1, 0), start_index_map=(2, 3),
)  # fmt: skip
"""Two batching dimensions: of a 2x3x4x2 operand and 3x2x5x2 indices."""


def _gather(op: str) -> Iterator[Miss]:
    """Yield near misses of I1, I2 and every constraint."""
    for of in _TYPES:
        operand, indices = tensor(of, 2, 3, 4, 2), tensor(_SI64, 3, 2, 5, 2)
        result = tensor(of, 3, 2, 5, 2, 2)
        make = partial(_slice_program, op, operand, indices, result, _PAIRED)
        for bad in _NO_INTEGERS:
            yield "I2", _slice_program(op, operand, tensor(bad, 3, 2, 5, 2), result, _PAIRED)
        yield from _gather_dimensions(make)
        yield from _gather_batching(
            make, partial(_slice_program, op, operand, indices, result, _TWICE)
        )
        yield from _gather_sizes(op, operand, indices, result)
    axis = quantized_type(2, 3, 4, 2, axis=3)
    result = quantized_like(axis, (3, 2, 5, 2, 2))
    yield "I1", _slice_program(op, axis, tensor(_SI64, 3, 2, 5, 2), result, _PAIRED)


def quantized_like(tensor_type: TensorType, shape: tuple[int, ...]) -> TensorType:
    """Return a type of the same quantized elements."""
    return TensorType(shape, tensor_type.element_type)


def _gather_dimensions(make: Build) -> Iterator[Miss]:
    """Yield near misses of C1 to C8, C18, C19: dimension numbers that no sizes depend on."""
    for dims in ((3,), (2, 3, 4), ()):
        yield "C1", make(offset_dims=dims)
    for dim in (-1, 5, 9):
        yield "C2", make(index_vector_dim=dim)
    for dims in ((2,), (1, 2, 3), ()):
        yield "C3", make(start_index_map=dims)
    for dims in ((4, 3), (3, 3)):
        yield "C4", make(offset_dims=dims)
    for dims in ((3, 5), (-1, 4)):
        yield "C5", make(offset_dims=dims)
    yield "C6", make(collapsed_slice_dims=(0,))
    yield "C6", make(collapsed_slice_dims=(1, 1), offset_dims=(3,))
    for dims in ((4,), (-1,)):
        yield "C8", make(collapsed_slice_dims=dims)
    for dims in ((2, 2), (2, 0)):
        yield "C18", make(start_index_map=dims)
    for dims in ((2, 4), (-1, 2)):
        yield "C19", make(start_index_map=dims)


def _gather_batching(make: Build, twice: Build) -> Iterator[Miss]:
    """Yield near misses of C10, C11, C13 to C16; `twice` has two batching dimensions."""
    yield "C10", twice(operand_batching_dims=(1, 0), start_indices_batching_dims=(0, 1))
    for dims in ((4,), (-1,)):
        yield "C11", make(operand_batching_dims=dims)
        yield "C14", make(start_indices_batching_dims=dims)
    yield "C15", make(start_indices_batching_dims=(3,))
    yield "C16", make(start_indices_batching_dims=())
    yield "C16", make(start_indices_batching_dims=(1, 0))


def _gather_sizes(
    op: str, operand: TensorType, indices: TensorType, result: TensorType
) -> Iterator[Miss]:
    """Yield near misses of C7, C9, C12, C13, C17 and C20 to C23: sizes and types."""
    of = operand.element
    make = partial(_slice_program, op, operand, indices, result, _PAIRED)
    both: dict[str, Attribute] = {
        "offset_dims": (3, 4), "operand_batching_dims": (), "start_indices_batching_dims": (),
        "collapsed_slice_dims": (1, 0),
    }  # fmt: skip
    yield "C7", make(**both)
    yield "C9", make(slice_sizes=(1, 2, 2, 2))
    yield "C12", make(slice_sizes=(2, 1, 2, 2))
    square = tensor(of, 2, 2, 4, 2)
    yield (
        "C13",
        _slice_program(op, square, indices, result, _TWICE, start_indices_batching_dims=(1, 1)),
    )
    for size in (1, 3, 5):
        bad = tensor(of, size, 3, 4, 2)
        yield "C17", _slice_program(op, bad, indices, result, _PAIRED)
    for sizes in ((1, 1, 2), (1, 1, 2, 2, 1), ()):
        yield "C20", make(slice_sizes=sizes)
    yield "C21", make(slice_sizes=(1, 1, -1, 2))
    large = TensorType((3, 2, 5, 5, 2), of)
    yield "C21", _slice_program(op, operand, indices, large, _PAIRED, slice_sizes=(1, 1, 5, 2))
    for shape in ((3, 2, 5, 2, 1), (2, 3, 5, 2, 2), (3, 2, 5, 2), (3, 2, 5, 2, 2, 1), ()):
        yield "C22", _slice_program(op, operand, indices, TensorType(shape, of), _PAIRED)
    other = _F64 if of is not _F64 else _F32
    yield "C23", _slice_program(op, operand, indices, TensorType(result.shape, other), _PAIRED)


# --- dynamic_gather ------------------------------------------------------------------------------

_DYNAMIC: dict[str, Attribute] = {
    "offset_dims": (2, 3), "collapsed_slice_dims": (0,), "start_index_map": (1, 0),
    "index_vector_dim": 2, "indices_are_sorted": False,
}  # fmt: skip


def _dynamic_gather_program(
    op: str,
    operands: tuple[TensorType, TensorType, TensorType],
    result: TensorType,
    **other: Attribute,
) -> Program:
    operand, start_indices, sizes = operands
    types = {"operand": operand, "start_indices": start_indices, "slice_sizes": sizes}
    return _build_program(op, types, (result,), _DYNAMIC | other)


def _dynamic_gather(op: str) -> Iterator[Miss]:
    """Yield near misses of I1 to I3 and every constraint; of C8 by the value of a constant."""
    sizes = tensor(_SI64, 3)
    for of in _TYPES:
        operand, indices = tensor(of, 3, 4, 2), tensor(_SI32, 2, 3, 2)
        result = tensor(of, 2, 3, 2, 2)
        for bad in _NO_INTEGERS:
            yield "I2", _dynamic_gather_program(op, (operand, tensor(bad, 2, 3, 2), sizes), result)
            yield "I3", _dynamic_gather_program(op, (operand, indices, tensor(bad, 3)), result)
        yield "I3", _dynamic_gather_program(op, (operand, indices, tensor(_SI64, 1, 3)), result)
        make = partial(_dynamic_gather_program, op, (operand, indices, sizes), result)
        yield from _dynamic_dimensions(make)
        for count in (2, 4, 0):
            yield (
                "C11",
                _dynamic_gather_program(op, (operand, indices, tensor(_SI64, count)), result),
            )
        large = tensor(of, 2, 3, 5, 2)
        yield "C12", _dynamic_gather_program(op, (operand, indices, sizes), large)
        for shape in ((2, 2, 2, 2), (3, 2, 2, 2), (2, 3, 2), (2, 3, 2, 2, 1)):
            yield (
                "C13",
                _dynamic_gather_program(op, (operand, indices, sizes), TensorType(shape, of)),
            )
        other = _F64 if of is not _F64 else _F32
        yield (
            "C14",
            _dynamic_gather_program(op, (operand, indices, sizes), TensorType(result.shape, other)),
        )
        values = (Value("operand", operand), Value("start_indices", indices))
        two = Dense.of(np.array([2, 2, 2]), sizes)
        yield "C8", single_op(op, (*values, two), (result,), dict(_DYNAMIC))
    axis = quantized_type(3, 4, 2, axis=2)
    result = quantized_like(axis, (2, 3, 2, 2))
    yield "I1", _dynamic_gather_program(op, (axis, tensor(_SI32, 2, 3, 2), sizes), result)


def _dynamic_dimensions(make: Build) -> Iterator[Miss]:
    """Yield near misses of C1 to C7, C9 and C10."""
    for dims in ((2,), (1, 2, 3), ()):
        yield "C1", make(offset_dims=dims)
    for dim in (-1, 4):
        yield "C2", make(index_vector_dim=dim)
    for dims in ((1,), (0, 1, 2), ()):
        yield "C3", make(start_index_map=dims)
    for dims in ((3, 2), (2, 2)):
        yield "C4", make(offset_dims=dims)
    for dims in ((2, 4), (-1, 3)):
        yield "C5", make(offset_dims=dims)
    yield "C6", make(collapsed_slice_dims=(0, 0), offset_dims=(2,))
    yield "C6", make(collapsed_slice_dims=(1, 0), offset_dims=(2,))
    for dims in ((3,), (-1,)):
        yield "C7", make(collapsed_slice_dims=dims)
    yield "C9", make(start_index_map=(1, 1))
    for dims in ((1, 3), (-1, 0)):
        yield "C10", make(start_index_map=dims)


# --- scatter -------------------------------------------------------------------------------------

_WINDOWS: dict[str, Attribute] = {
    "update_window_dims": (3, 4), "inserted_window_dims": (1,), "input_batching_dims": (0,),
    "scatter_indices_batching_dims": (1,), "scatter_dims_to_operand_dims": (2, 1),
    "index_vector_dim": 3, "indices_are_sorted": False, "unique_indices": False,
}  # fmt: skip
"""As `_PAIRED`, for a 2x3x4x2 input, 3x2x5x2 indices and 3x2x5x2x2 updates."""

_WINDOWS_TWICE = _replace_attributes(
    _WINDOWS, inserted_window_dims=(), input_batching_dims=(0, 1),
    scatter_indices_batching_dims=(1, 0), scatter_dims_to_operand_dims=(2, 3),
)  # fmt: skip


def _adding_region(*of: ElementType) -> Region:
    """Return a computation that adds the updates of every input."""
    block = BodyBuilder.of(*of, *of)
    pairs = zip(block.arguments[: len(of)], block.arguments[len(of) :], strict=True)
    return block.finish_region(*(block.op("add", one, other) for one, other in pairs))


def _scatter_program(
    op: str,
    inputs: tuple[TensorType, ...],
    indices: TensorType,
    updates: tuple[TensorType, ...],
    results: tuple[TensorType, ...],
    body: Region,
    given: dict[str, Attribute],
    **other: Attribute,
) -> Program:
    types = {f"input{n}": of for n, of in enumerate(inputs)} | {"scatter_indices": indices}
    types |= {f"update{n}": of for n, of in enumerate(updates)}
    return _build_program(op, types, results, given | other, (body,))


def _scatter(op: str) -> Iterator[Miss]:
    """Yield near misses of I2 and every constraint."""
    indices = tensor(_SI64, 3, 2, 5, 2)
    for of in _TYPES:
        operand, update = tensor(of, 2, 3, 4, 2), tensor(of, 3, 2, 5, 2, 2)
        tensors = ((operand,), indices, (update,), (operand,), _adding_region(of))
        for bad in _NO_INTEGERS:
            wrong = tensor(bad, 3, 2, 5, 2)
            yield "I2", _scatter_program(op, (operand,), wrong, *tensors[2:], _WINDOWS)
        make = partial(_scatter_program, op, *tensors, _WINDOWS)
        yield from _scatter_dimensions(make)
        yield from _scatter_batching(make, partial(_scatter_program, op, *tensors, _WINDOWS_TWICE))
        yield from _scatter_shapes(op, operand, indices, update)
        yield from _scatter_types(op, operand, indices, update)
    yield "C5", _build_program(op, {"scatter_indices": indices}, (), _WINDOWS, (_adding_region(),))


def _scatter_dimensions(make: Build) -> Iterator[Miss]:
    """Yield near misses of C2, C7 to C9, C11 and C19 to C22."""
    for dims in ((3,), (2, 3, 4), ()):
        yield "C2", make(update_window_dims=dims)
    for dims in ((4, 3), (3, 3)):
        yield "C7", make(update_window_dims=dims)
    for dims in ((3, 5), (-1, 4)):
        yield "C8", make(update_window_dims=dims)
    yield "C9", make(inserted_window_dims=(0,))
    yield "C9", make(inserted_window_dims=(1, 1), update_window_dims=(4,))
    for dims in ((4,), (-1,)):
        yield "C11", make(inserted_window_dims=dims)
    for dims in ((2,), (1, 2, 3), ()):
        yield "C19", make(scatter_dims_to_operand_dims=dims)
    for dims in ((2, 2), (2, 0)):
        yield "C20", make(scatter_dims_to_operand_dims=dims)
    for dims in ((2, 4), (-1, 2)):
        yield "C21", make(scatter_dims_to_operand_dims=dims)
    for dim in (-1, 5, 9):
        yield "C22", make(index_vector_dim=dim)


def _scatter_batching(make: Build, twice: Build) -> Iterator[Miss]:
    """Yield near misses of C12, C13 and C15 to C17; `twice` has two batching dimensions."""
    yield "C12", twice(input_batching_dims=(1, 0), scatter_indices_batching_dims=(0, 1))
    for dims in ((4,), (-1,)):
        yield "C13", make(input_batching_dims=dims)
        yield "C15", make(scatter_indices_batching_dims=dims)
    yield "C16", make(scatter_indices_batching_dims=(3,))
    yield "C17", make(scatter_indices_batching_dims=())
    yield "C17", make(scatter_indices_batching_dims=(1, 0))


def _scatter_shapes(
    op: str, operand: TensorType, indices: TensorType, update: TensorType
) -> Iterator[Miss]:
    """Yield near misses of C4, C10, C14, C18 and C24: shapes."""
    of = operand.element
    body = _adding_region(of)
    for shape in ((3, 2, 5, 2, 3), (3, 2, 5, 5, 2), (2, 3, 5, 2, 2), (3, 2, 5, 2, 2, 1)):
        bad = TensorType(shape, of)
        yield "C4", _scatter_program(op, (operand,), indices, (bad,), (operand,), body, _WINDOWS)
    tensors = ((operand,), indices, (update,), (operand,), body)
    none: dict[str, Attribute] = {"input_batching_dims": (), "scatter_indices_batching_dims": ()}
    yield "C10", _scatter_program(op, *tensors, _WINDOWS, inserted_window_dims=(1, 0), **none)
    square = tensor(of, 2, 2, 4, 2)
    tensors = ((square,), indices, (update,), (square,), body)
    yield (
        "C14",
        _scatter_program(op, *tensors, _WINDOWS_TWICE, scatter_indices_batching_dims=(1, 1)),
    )
    for size in (1, 3, 5):
        bad = tensor(of, size, 3, 4, 2)
        yield "C18", _scatter_program(op, (bad,), indices, (update,), (bad,), body, _WINDOWS)
    for shape in ((2, 3, 4, 1), (3, 2, 4, 2), (2, 3, 4), (2, 3, 4, 2, 1), ()):
        bad = TensorType(shape, of)
        yield "C24", _scatter_program(op, (operand,), indices, (update,), (bad,), body, _WINDOWS)


def _scatter_types(
    op: str, operand: TensorType, indices: TensorType, update: TensorType
) -> Iterator[Miss]:
    """Yield near misses of C1, C3, C6, C23 and C25: several inputs, and element types."""
    of = operand.element
    other = _F64 if of is not _F64 else _F32
    wide = TensorType((2, 3, 4, 3), of)
    both = (operand, wide)
    body = _adding_region(of, of)
    yield "C1", _scatter_program(op, both, indices, (update,) * 2, both, body, _WINDOWS)
    updates = (update, TensorType((3, 2, 5, 1, 2), of))
    yield (
        "C3",
        _scatter_program(op, (operand,) * 2, indices, updates, (operand,) * 2, body, _WINDOWS),
    )
    make = partial(_scatter_program, op, (operand,), indices)
    wrong = TensorType(update.shape, other)
    yield "C6", make((wrong,), (operand,), _adding_region(of), _WINDOWS)
    for region in _invalid_computations(of, other):
        yield "C23", make((update,), (operand,), region, _WINDOWS)
    bad = TensorType(operand.shape, other)
    yield "C25", make((update,), (bad,), _adding_region(of), _WINDOWS)


def _invalid_computations(element_type: ElementType, other: ElementType) -> Iterator[Region]:
    """Yield regions that are no update computations on a type."""
    block = BodyBuilder.of(element_type, element_type)
    yield block.finish_region()
    yield block.finish_region(*block.arguments)
    alone = BodyBuilder.of(element_type)
    yield alone.finish_region(*alone.arguments)
    three = BodyBuilder.of(element_type, element_type, element_type)
    yield three.finish_region(three.arguments[0])
    mixed = BodyBuilder.of(element_type, other)
    yield mixed.finish_region(mixed.arguments[0])
    ranked = BodyBuilder(
        (Value("a0", tensor(element_type, 1)), Value("a1", tensor(element_type, 1)))
    )
    yield ranked.finish_region(ranked.arguments[0])
    if other.kind is not element_type.kind:
        yield _adding_region(other)  # not a type that `of` is promotable to


NEAR_MISSES: dict[str, Misses] = {
    "dynamic_gather": _dynamic_gather,
    "gather": _gather,
    "scatter": _scatter,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {
    # Inputs and updates have one element type (C6): if it is per-axis quantized, both are violated.
    "scatter": ("I1", "I3"),
}
"""Ids of constraints that are violated only with others, by op: see each comment."""
