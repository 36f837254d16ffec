"""Index operands and their limits: accesses stay within the accessed array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from conformance.needs.need import ANY, Need
from conformance.needs.rules import KnownValues, Needed
from reference.ir.program import Operation, TensorType, Value


def _shape(value: Value) -> tuple[int | None, ...]:
    return value.type.shape if isinstance(value.type, TensorType) else ()


def _integers(attribute: Any) -> tuple[int, ...]:
    return tuple(int(one) for one in attribute) if isinstance(attribute, tuple) else ()


def _start_index_needs(
    starts: Sequence[Value], shape: Sequence[int | None], sizes: Sequence[Any]
) -> Needed:
    for start, size, taken in zip(starts, shape, sizes, strict=False):
        if size is not None and isinstance(taken, int):
            yield start, Need(0, max(size - taken, 0))


def dynamic_slice_indices(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the index operands of `dynamic_slice` and their limits."""
    operand, *starts = operation.operands
    yield from _start_index_needs(
        starts, _shape(operand), _integers(operation.attribute("slice_sizes"))
    )


def dynamic_update_slice_indices(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the index operands of `dynamic_update_slice` and their limits."""
    operand, update, *starts = operation.operands
    yield from _start_index_needs(starts, _shape(operand), _shape(update))


def case_indices(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the index operands of `case` and their limits."""
    yield operation.operands[0], Need(0, len(operation.regions) - 1)


def torch_index_select_indices(operation: Operation, _: Need, __: KnownValues) -> Needed:
    """Return the index operands of `torch_index_select` and their limits."""
    operand, index = operation.operands
    dimension = operation.attribute("dim")
    size = _shape(operand)[dimension] if isinstance(dimension, int) else None
    if size is not None:
        yield index, Need(0, max(size - 1, 0))


def gather_indices(operation: Operation, _: Need, known: KnownValues) -> Needed:
    """Return the index operands of `gather` and their limits."""
    operand, indices = operation.operands[:2]
    map_ = _integers(operation.attribute("start_index_map"))
    sizes = _integers(operation.attribute("slice_sizes")) or (1,) * len(_shape(operand))
    yield from _index_vector_needs(
        operation, indices, _last_indices(_shape(operand), map_, sizes), known, ANY
    )


def scatter_indices(operation: Operation, _: Need, known: KnownValues) -> Needed:
    """Return the index operands of `scatter` and their limits."""
    count = len(operation.results)
    operand, indices, update = (operation.operands[n] for n in (0, count, count + 1))
    shape = _shape(operand)
    missing = (
        *_integers(operation.attribute("inserted_window_dims")),
        *_integers(operation.attribute("input_batching_dims")),
    )
    windows = [_shape(update)[d] for d in _integers(operation.attribute("update_window_dims"))]
    sizes = [1 if d in missing else windows.pop(0) if windows else 1 for d in range(len(shape))]
    map_ = _integers(operation.attribute("scatter_dims_to_operand_dims"))
    together = Need(
        distinct=operation.attribute("unique_indices") is True,
        in_order=operation.attribute("indices_are_sorted") is True,
    )
    yield from _index_vector_needs(
        operation, indices, _last_indices(shape, map_, sizes), known, together
    )


def _last_indices(
    shape: Sequence[int | None], map_: Sequence[int], sizes: Sequence[int | None]
) -> list[int | None]:
    """Return the last index in bounds, for each component of the index vectors."""
    found: list[int | None] = []
    for dimension in map_:
        size, taken = shape[dimension], sizes[dimension]
        found.append(None if size is None or taken is None else max(size - taken, 0))
    return found


def _index_vector_needs(
    operation: Operation,
    indices: Value,
    last: Sequence[int | None],
    known: KnownValues,
    together: Need,
) -> Iterator[tuple[Value, Need]]:
    """Return the needs of index vectors, also of their components if the vectors are
    concatenated.
    """
    if not last or any(one is None for one in last):
        return
    ends = [one for one in last if one is not None]
    made_by, along = known.makers.get(indices.name), operation.attribute("index_vector_dim")
    if made_by is None or made_by.name != "concatenate" or made_by.attribute("dimension") != along:
        yield indices, replace(together, low=0, high=min(ends))
        return
    at = 0
    for part in made_by.operands:
        width = _shape(part)[int(along)] if isinstance(along, int) else None
        if width is None:
            return
        yield part, Need(0, min(ends[at : at + width], default=0))
        at += width
