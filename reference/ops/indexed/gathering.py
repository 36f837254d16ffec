"""Type functions and records of gather, dynamic_gather, scatter, torch_index_select.

The evaluation is in gather.py and scatter.py. Index operands may be of any integer type; gather
clamps start indices, scatter drops updates out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from reference.ir.constraints import require
from reference.ir.notation import are_dimensions, is_promotable, is_unique, same_shape, sizes_agree
from reference.ir.op import FIRST_OPERAND, Dialect, Op, QuantizedUse, Rounding, Structure
from reference.ir.program import QuantizedType, Region, TensorType, ValueType
from reference.ir.regions import argument_types, output_types
from reference.ir.types import ALL, ElementType
from reference.ops.elementwise.types import ANY_PER_TENSOR, INTEGER
from reference.ops.indexed.gather import (
    check_slice_sizes,
    dynamic_gather,
    gather,
    torch_index_select,
)
from reference.ops.indexed.scatter import scatter

Dims = tuple[int, ...]
Sizes = tuple[int | None, ...]


def _is_sorted(dims: Dims) -> bool:
    return all(a <= b for a, b in pairwise(dims))


def _is_at_most(size: int | None, limit: int | None) -> bool:
    return size is None or limit is None or size <= limit


def _remove_dimensions(shape: Sequence[int | None], dims: Dims) -> Sizes:
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def _combine_sizes(batch: Sizes, window: Sizes, window_dims: Dims) -> Sizes:
    """Return the specification's `combine`: window sizes at `window_dims`, the others in
    between."""
    sizes = dict(zip(window_dims, window, strict=True))
    rest = iter(batch)
    rank = len(batch) + len(window)
    return tuple(sizes[d] if d in sizes else next(rest) for d in range(rank))


def _vector_size(indices: TensorType, index_vector_dim: int) -> int | None:
    """Return the number of components of an index vector."""
    return indices.shape[index_vector_dim] if index_vector_dim < indices.rank else 1


def _pairs_agree(left: TensorType, left_dims: Dims, right: TensorType, right_dims: Dims) -> bool:
    """Return whether paired dimensions have one size; invalid dimensions are ignored."""
    return all(
        sizes_agree(left.shape[a], right.shape[b])
        for a, b in zip(left_dims, right_dims, strict=False)
        if 0 <= a < left.rank and 0 <= b < right.rank
    )


@dataclass(frozen=True, slots=True)
class _Slices:
    """The dimension numbers that gather and dynamic_gather share."""

    offset_dims: Dims
    dropped: Dims
    """Dimensions of the operand that the result lacks: collapsed and batching dimensions."""
    index_vector_dim: int

    def batch_sizes(self, start_indices: TensorType) -> Sizes:
        return _remove_dimensions(start_indices.shape, (self.index_vector_dim,))

    def rank(self, start_indices: TensorType) -> int:
        return len(self.batch_sizes(start_indices)) + len(self.offset_dims)

    def shape(self, start_indices: TensorType, slice_sizes: Sizes) -> Sizes:
        window = _remove_dimensions(slice_sizes, self.dropped)
        return _combine_sizes(self.batch_sizes(start_indices), window, self.offset_dims)


def gather_type(
    operand: TensorType,
    start_indices: TensorType,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    index_vector_dim: int,
    slice_sizes: Dims,
    operand_batching_dims: Dims = (),
    start_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - says nothing about types
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `gather`: batch dimensions, with slices at `offset_dims`.

    Raises:
        ConstraintViolation: I1 (per-axis quantized), I2 (no integers), C1 to C23.
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("I2", start_indices in INTEGER, start_indices)
    rank, batching = operand.rank, (operand_batching_dims, start_indices_batching_dims)
    slices = _Slices(offset_dims, collapsed_slice_dims + batching[0], index_vector_dim)
    counted = len(offset_dims) + len(slices.dropped)
    formed = require("C1", rank == counted, f"rank {rank}, not {counted}")
    there = require("C2", 0 <= index_vector_dim <= start_indices.rank, index_vector_dim)
    if there:
        size = _vector_size(start_indices, index_vector_dim)
        require("C3", sizes_agree(len(start_index_map), size), start_index_map)
    formed &= require("C4", is_unique(offset_dims) and _is_sorted(offset_dims), offset_dims)
    if there:
        ranked = are_dimensions(offset_dims, slices.rank(start_indices))
        formed &= require("C5", ranked, offset_dims)
    formed &= require("C6", is_unique(slices.dropped), slices.dropped)
    require("C7", _is_sorted(collapsed_slice_dims), collapsed_slice_dims)
    formed &= require("C8", are_dimensions(collapsed_slice_dims, rank), collapsed_slice_dims)
    require("C10", _is_sorted(batching[0]), batching[0])
    formed &= require("C11", are_dimensions(batching[0], rank), batching[0])
    require("C13", is_unique(batching[1]), batching[1])
    require("C14", are_dimensions(batching[1], start_indices.rank), batching[1])
    require("C15", index_vector_dim not in batching[1], batching[1])
    if require("C16", len(batching[0]) == len(batching[1]), batching):
        agree = _pairs_agree(operand, batching[0], start_indices, batching[1])
        require("C17", agree, batching)
    mapped = start_index_map + batching[0]
    require("C18", is_unique(mapped), mapped)
    require("C19", are_dimensions(start_index_map, rank), start_index_map)
    if require("C20", len(slice_sizes) == rank, slice_sizes):
        collapsed = [slice_sizes[d] for d in collapsed_slice_dims if 0 <= d < rank]
        require("C9", all(size <= 1 for size in collapsed), slice_sizes)
        single = [slice_sizes[d] for d in batching[0] if 0 <= d < rank]
        require("C12", all(size <= 1 for size in single), slice_sizes)
        fits = all(map(_is_at_most, slice_sizes, operand.shape))
        require("C21", fits and min(slice_sizes, default=0) >= 0, slice_sizes)
        formed &= min(slice_sizes, default=0) >= 0
    else:
        formed = False
    if result is not None:
        same = result.element_type == operand.element_type
        require("C23", same, f"{operand} to {result}")
    if not (formed and there):
        return result or operand
    inferred = TensorType(slices.shape(start_indices, slice_sizes), operand.element_type)
    if result is not None:
        require("C22", same_shape(result, inferred), f"{inferred} expected, not {result}")
    return result or inferred


def dynamic_gather_type(
    operand: TensorType,
    start_indices: TensorType,
    slice_sizes: TensorType,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    index_vector_dim: int,
    operand_batching_dims: Dims = (),
    start_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - says nothing about types
    result: TensorType,
) -> TensorType:
    """Return the result type of `dynamic_gather`, which the program states, checked by types only.

    Constraints on the values of `slice_sizes` (C8, C12) are checked by the evaluation, except that
    a slice along an offset dimension of the result cannot be larger than the operand (C12). MLIR's
    attribute also has the batching dimensions of `gather`; since the op is specified as identical
    to `gather`, they are accepted here, under the id of the constraint that they extend.

    Raises:
        ConstraintViolation: I1 (per-axis quantized), I2, I3 (no integers, or of another rank), C1
            to C7, C9 to C14; "attributes" (batching dimensions that do not pair).
    """
    require("I1", operand in ANY_PER_TENSOR, operand)
    require("I2", start_indices in INTEGER, start_indices)
    vector = slice_sizes in INTEGER and slice_sizes.rank == 1
    require("I3", vector, slice_sizes)
    rank, batching = operand.rank, (operand_batching_dims, start_indices_batching_dims)
    slices = _Slices(offset_dims, collapsed_slice_dims + batching[0], index_vector_dim)
    counted = len(offset_dims) + len(slices.dropped)
    formed = require("C1", rank == counted, f"rank {rank}, not {counted}")
    there = require("C2", 0 <= index_vector_dim <= start_indices.rank, index_vector_dim)
    if there:
        size = _vector_size(start_indices, index_vector_dim)
        require("C3", sizes_agree(len(start_index_map), size), start_index_map)
    formed &= require("C4", is_unique(offset_dims) and _is_sorted(offset_dims), offset_dims)
    if there:
        ranked = are_dimensions(offset_dims, slices.rank(start_indices))
        formed &= require("C5", ranked, offset_dims)
    ordered = is_unique(slices.dropped) and _is_sorted(collapsed_slice_dims)
    formed &= require("C6", ordered and _is_sorted(batching[0]), slices.dropped)
    formed &= require("C7", are_dimensions(slices.dropped, rank), slices.dropped)
    mapped = start_index_map + batching[0]
    require("C9", is_unique(mapped), mapped)
    require("C10", are_dimensions(start_index_map, rank), start_index_map)
    if vector:
        require("C11", sizes_agree(slice_sizes.shape[0], rank), slice_sizes)
    paired = len(batching[0]) == len(batching[1]) and is_unique(batching[1])
    paired = paired and are_dimensions(batching[1], start_indices.rank)
    paired = paired and index_vector_dim not in batching[1]
    paired = paired and _pairs_agree(operand, batching[0], start_indices, batching[1])
    require("attributes", paired, batching)
    same = result.element_type == operand.element_type
    require("C14", same, f"{operand} to {result}")
    if formed and there:
        unknown = slices.shape(start_indices, (None,) * rank)
        fitting = TensorType(unknown, operand.element_type)
        if require("C13", same_shape(result, fitting), f"{fitting} expected, not {result}"):
            window = [result.shape[d] for d in offset_dims]
            limits = _remove_dimensions(operand.shape, slices.dropped)
            require("C12", all(map(_is_at_most, window, limits)), f"{operand} to {result}")
    return result


def torch_index_select_type(
    operand: TensorType,
    index: TensorType,
    *,
    dim: int,
    batch_dims: int,
    result: TensorType | None = None,
) -> TensorType:
    """Return the result type of `torch_index_select`, no longer specified: see its evaluation.

    Raises:
        ConstraintViolation: "operands" (index not of integers, batches that differ), "attributes"
            (no such dimensions), "result" (another type).
    """
    require("operands", index in INTEGER, index)
    numbered = 0 <= batch_dims <= dim < operand.rank and batch_dims <= index.rank
    if not require("attributes", numbered, f"dim {dim}, batch_dims {batch_dims}"):
        return result or operand
    batches = tuple(range(batch_dims))
    require("operands", _pairs_agree(operand, batches, index, batches), f"{operand}, {index}")
    shape = operand.shape[:dim] + index.shape[batch_dims:] + operand.shape[dim + 1 :]
    inferred = TensorType(shape, operand.element_type)
    if result is not None:
        same = same_shape(result, inferred) and result.element_type == operand.element_type
        require("result", same, f"{inferred} expected, not {result}")
    return result or inferred


def scatter_type(
    inputs: tuple[TensorType, ...],
    scatter_indices: TensorType,
    updates: tuple[TensorType, ...],
    *,
    update_window_dims: Dims,
    inserted_window_dims: Dims,
    scatter_dims_to_operand_dims: Dims,
    index_vector_dim: int,
    update_computation: Region,
    input_batching_dims: Dims = (),
    scatter_indices_batching_dims: Dims = (),
    indices_are_sorted: bool = False,  # noqa: ARG001 - says nothing about types
    unique_indices: bool = False,  # noqa: ARG001 - says nothing about types
    results: tuple[TensorType, ...] | None = None,
) -> tuple[TensorType, ...]:
    """Return the result types of `scatter`: the shapes of `inputs`, the computation's elements.

    Raises:
        ConstraintViolation: I1, I3 (per-axis quantized), I2 (no integers), C1 to C25.
    """
    require("I2", scatter_indices in INTEGER, scatter_indices)
    if not require("C5", len(inputs) == len(updates) > 0, len(inputs)):
        return results or inputs
    require("I1", all(of in ANY_PER_TENSOR for of in inputs), inputs)
    require("I3", all(of in ANY_PER_TENSOR for of in updates), updates)
    require("C1", same_shape(*inputs), inputs)
    require("C3", same_shape(*updates), updates)
    pairs = zip(inputs, updates, strict=True)
    require("C6", all(a.element_type == b.element_type for a, b in pairs), updates)
    _check_scatter_dims(
        inputs[0], scatter_indices, updates[0], update_window_dims, inserted_window_dims,
        (input_batching_dims, scatter_indices_batching_dims), scatter_dims_to_operand_dims,
        index_vector_dim,
    )  # fmt: skip
    elements = _promoted_elements(inputs, update_computation)
    inferred = tuple(
        TensorType(of.shape, element)
        for of, element in zip(inputs, elements or [of.element_type for of in inputs], strict=True)
    )
    if results is None:
        return inferred
    shapes = len(results) == len(inputs) and all(map(same_shape, results, inputs))
    require("C24", shapes, results)
    if elements is not None:
        stated = tuple(of.element_type for of in results)
        require("C25", stated[: len(elements)] == elements[: len(stated)], results)
    return results


def _promoted_elements(
    inputs: tuple[TensorType, ...], body: Region
) -> tuple[ElementType | QuantizedType, ...] | None:
    """Return E0, ... of the computation's type; None if it does not have the required form
    (C23)."""
    takes, gives = argument_types(body), output_types(body)
    count = len(inputs)
    formed = len(takes) == 2 * count and takes[:count] == takes[count:] == gives
    elements = [of.element_type for of in gives if isinstance(of, TensorType) and of.rank == 0]
    formed = formed and len(elements) == count
    formed = formed and all(
        is_promotable(of.element_type, to) for of, to in zip(inputs, elements, strict=True)
    )
    require("C23", formed, _signature(takes, gives))
    return tuple(elements) if formed else None


def _signature(takes: Sequence[ValueType], gives: Sequence[ValueType]) -> str:
    return f"({', '.join(map(str, takes))}) -> ({', '.join(map(str, gives))})"


def _check_scatter_dims(
    operand: TensorType,
    indices: TensorType,
    updates: TensorType,
    update_window_dims: Dims,
    inserted: Dims,
    batching: tuple[Dims, Dims],
    scattered: Dims,
    index_vector_dim: int,
) -> None:
    """Check C2, C4 and C7 to C22 of `scatter`: all constraints on dimension numbers."""
    rank, dropped = operand.rank, inserted + batching[0]
    counted = len(update_window_dims) + len(dropped)
    formed = require("C2", rank == counted, f"rank {rank}, not {counted}")
    ordered = is_unique(update_window_dims) and _is_sorted(update_window_dims)
    formed &= require("C7", ordered, update_window_dims)
    ranked = are_dimensions(update_window_dims, updates.rank)
    formed &= require("C8", ranked, update_window_dims)
    formed &= require("C9", is_unique(dropped), dropped)
    require("C10", _is_sorted(inserted), inserted)
    formed &= require("C11", are_dimensions(inserted, rank), inserted)
    require("C12", _is_sorted(batching[0]), batching[0])
    formed &= require("C13", are_dimensions(batching[0], rank), batching[0])
    require("C14", is_unique(batching[1]), batching[1])
    require("C15", are_dimensions(batching[1], indices.rank), batching[1])
    require("C16", index_vector_dim not in batching[1], batching[1])
    if require("C17", len(batching[0]) == len(batching[1]), batching):
        require("C18", _pairs_agree(operand, batching[0], indices, batching[1]), batching)
    mapped = scattered + batching[0]
    require("C20", is_unique(mapped), mapped)
    require("C21", are_dimensions(scattered, rank), scattered)
    if require("C22", 0 <= index_vector_dim <= indices.rank, index_vector_dim):
        require(
            "C19", sizes_agree(len(scattered), _vector_size(indices, index_vector_dim)), scattered
        )
        if formed:
            batch = _remove_dimensions(indices.shape, (index_vector_dim,))
            _check_updates(
                updates, update_window_dims, batch, _remove_dimensions(operand.shape, dropped)
            )


def _check_updates(updates: TensorType, window_dims: Dims, batch: Sizes, limits: Sizes) -> None:
    """Check C4 of `scatter`: scatter dimensions equal the indices' dimensions, and windows fit."""
    scatter_sizes = _remove_dimensions(updates.shape, window_dims)
    window = [updates.shape[d] for d in window_dims]
    fits = len(scatter_sizes) == len(batch) and all(map(sizes_agree, scatter_sizes, batch))
    require("C4", fits and all(map(_is_at_most, window, limits)), updates)


_op = partial(
    Op, dialect=Dialect.STABLEHLO, specified=True, element_types=ALL, principal=FIRST_OPERAND,
    quantized=QuantizedUse.MOVES, structure=Structure.COMPUTES, lifts=False,
)  # fmt: skip

OPS: tuple[Op, ...] = (
    _op(
        name="dynamic_gather", type_function=dynamic_gather_type, evaluate=dynamic_gather,
        operands=("operand", "start_indices", "slice_sizes"),
        attributes=(
            "offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim",
            "indices_are_sorted", "operand_batching_dims", "start_indices_batching_dims",
        ),
        optional=("indices_are_sorted", "operand_batching_dims", "start_indices_batching_dims"),
        constraints=tuple(f"C{n}" for n in range(1, 15)), inputs=("I1", "I2", "I3"),
        check_values=check_slice_sizes, rounding=Rounding.MOVES, needs_result=True, carries=(0,),
        size_operands=("slice_sizes",),
    ),
    _op(
        name="gather", type_function=gather_type, evaluate=gather,
        operands=("operand", "start_indices"),
        attributes=(
            "offset_dims", "collapsed_slice_dims", "operand_batching_dims",
            "start_indices_batching_dims", "start_index_map", "index_vector_dim", "slice_sizes",
            "indices_are_sorted",
        ),
        optional=("operand_batching_dims", "start_indices_batching_dims", "indices_are_sorted"),
        constraints=tuple(f"C{n}" for n in range(1, 24)), inputs=("I1", "I2"),
        rounding=Rounding.MOVES, needs_result=False, carries=(0,),
    ),
    _op(
        name="scatter", type_function=scatter_type, evaluate=scatter,
        operands=("*inputs", "scatter_indices", "*updates"),
        attributes=(
            "update_window_dims", "inserted_window_dims", "input_batching_dims",
            "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim",
            "indices_are_sorted", "unique_indices",
        ),
        optional=(
            "input_batching_dims", "scatter_indices_batching_dims", "indices_are_sorted",
            "unique_indices",
        ),
        regions=("update_computation",), constraints=tuple(f"C{n}" for n in range(1, 26)),
        inputs=("I1", "I2", "I3"), body_types=(True, False, True), rounding=Rounding.ACCUMULATES,
        needs_result=False, several=True,
    ),
    _op(
        name="torch_index_select", specified=False, type_function=torch_index_select_type,
        evaluate=torch_index_select, operands=("operand", "index"),
        attributes=("dim", "batch_dims"), constraints=(), rounding=Rounding.MOVES,
        needs_result=False, carries=(0,),
    ),
)  # fmt: skip
"""The ops of this family."""
