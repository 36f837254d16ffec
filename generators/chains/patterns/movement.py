"""Pairs of data movements: reversals, transposes, reshapes, slices of pads and concatenations."""

from __future__ import annotations

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of, size_of
from generators.chains.fitting import fit_shape
from generators.chains.patterns.pattern import Pattern, edges_of, is_number, is_shaped, is_small
from generators.families.data_movement import permutation
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES


def _choose_axis(chain: Chain, value: Value) -> int:
    return chain.pick(tensor_of(value).rank)


def _per_dimension(rank: int, axis: int, number: int, others: int = 0) -> tuple[int, ...]:
    """Return a number for one dimension, another for the others."""
    return tuple(number if d == axis else others for d in range(rank))


def _pad_value(chain: Chain, value: Value, low: int, high: int, interior: int, axis: int) -> Value:
    filling = chain.value_of(TensorType((), element(value)))
    rank = tensor_of(value).rank
    return chain.op(
        "pad", value, filling, edge_padding_low=_per_dimension(rank, axis, low),
        edge_padding_high=_per_dimension(rank, axis, high),
        interior_padding=_per_dimension(rank, axis, interior),
    )  # fmt: skip


def _slice_value(
    chain: Chain, value: Value, start: int, limit: int, axis: int, stride: int = 1
) -> Value:
    shape = shape_of(value)
    limits = tuple(limit if d == axis else size for d, size in enumerate(shape))
    return chain.op(
        "slice", value, start_indices=_per_dimension(len(shape), axis, start), limit_indices=limits,
        strides=_per_dimension(len(shape), axis, stride, 1),
    )  # fmt: skip


def _double_reverse(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    once = chain.op("reverse", value, dimensions=(axis,))
    if is_number(tensor_of(value)) and chain.pick(3) == 2:
        once = chain.op("add", once, value)
    return chain.op("reverse", once, dimensions=(axis,))


def _double_transpose(chain: Chain, value: Value) -> Value:
    """Write a transpose and its inverse, a repetition, or another transpose.

    Composing permutations in the wrong order only shows in the last case, with three or more
    dimensions of equal sizes.
    """
    if chain.pick(3) == 2:
        value = fit_shape(chain, value, TensorType((2, 2, 2), element(value)))
    order = permutation(chain.pick, tensor_of(value).rank)
    back = tuple(order.index(d) for d in range(len(order)))
    once = chain.op("transpose", value, permutation=order)
    other = permutation(chain.pick, len(order))
    return chain.op("transpose", once, permutation=choose(chain.pick, (back, order, other)))


def _reshape_and_transpose(chain: Chain, value: Value) -> Value:
    shape = shape_of(value)
    flat = chain.reshape(value, (1, *shape))
    turned = chain.op("transpose", flat, permutation=(*range(1, len(shape) + 1), 0))
    return chain.reshape(turned, shape)


def _flatten_and_restore(chain: Chain, value: Value) -> Value:
    shape = shape_of(value)
    flat = chain.reshape(value, (size_of(tensor_of(value)),))
    if chain.pick(2):
        flat = chain.op("reverse", flat, dimensions=(0,))
    return chain.reshape(flat, shape)


def _slice_of_pad(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    low, high, interior = chain.pick(4), chain.pick(4), chain.pick(2)
    padded = _pad_value(chain, value, low, high, interior, axis)
    size = shape_of(padded)[axis]
    start = min(choose(chain.pick, (low, 0, low + 1)), size)
    limit = max(size - choose(chain.pick, (high, 0, high + 1)), start)
    return _slice_value(chain, padded, start, limit, axis, choose(chain.pick, (1, 1 + interior, 2)))


def _pad_of_pad(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    for _ in range(2):
        low, high = _choose_padding(chain, shape_of(value)[axis])
        value = _pad_value(chain, value, low, high, chain.pick(2), axis)
    return value


def _choose_padding(chain: Chain, size: int) -> tuple[int, int]:
    """Return low and high padding; either may be negative and crop elements."""
    low = choose(chain.pick, (0, 1, 2, -min(1, size), -min(2, size)))
    left = max(size + min(low, 0), 0)
    return low, choose(chain.pick, (0, 1, 3, -min(1, left), -left))


def _pad_then_arithmetic(chain: Chain, value: Value) -> Value:
    """Write a pad whose padding value may be neutral to the next operation."""
    axis = _choose_axis(chain, value)
    filling = chain.number(choose(chain.pick, (0, 1)), TensorType((), element(value)))
    rank = tensor_of(value).rank
    padded = chain.op(
        "pad", value, filling, edge_padding_low=_per_dimension(rank, axis, chain.pick(3)),
        edge_padding_high=_per_dimension(rank, axis, chain.pick(3)),
        interior_padding=_per_dimension(rank, axis, chain.pick(2)),
    )  # fmt: skip
    other = chain.value_of(tensor_of(padded))
    return chain.op("multiply" if chain.pick(2) else "add", padded, other)


def _slice_of_concatenate(chain: Chain, value: Value) -> Value:
    axis, shape = _choose_axis(chain, value), shape_of(value)
    values = [value, chain.value_of(tensor_of(value))]
    if chain.pick(2):
        values.append(value)
    joined = chain.op("concatenate", *values, dimension=axis)
    size = shape[axis]
    start = choose(chain.pick, (0, size, max(size - 1, 0)))
    limit = choose(chain.pick, (start + size, 2 * size, min(start + size + 1, len(values) * size)))
    limit = max(start, min(limit, len(values) * size))
    return _slice_value(chain, joined, start, limit, axis, choose(chain.pick, (1, 1, 2)))


def _concatenate_of_slices(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    size = shape_of(value)[axis]
    cut = chain.pick(size + 1)
    parts = [_slice_value(chain, value, 0, cut, axis), _slice_value(chain, value, cut, size, axis)]
    if chain.pick(3) == 2:
        parts.reverse()
    return chain.op("concatenate", *parts, dimension=axis)


def _slice_of_slice(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    for _ in range(2):
        size = shape_of(value)[axis]
        start = min(chain.pick(3), size)
        value = _slice_value(chain, value, start, size, axis, choose(chain.pick, (1, 2, 3)))
    return value


def _slice_of_reverse(chain: Chain, value: Value) -> Value:
    axis = _choose_axis(chain, value)
    size = shape_of(value)[axis]
    turned = chain.op("reverse", value, dimensions=(axis,))
    return _slice_value(chain, turned, min(chain.pick(3), size), size, axis, 1 + chain.pick(2))


def _broadcast_then_slice(chain: Chain, value: Value) -> Value:
    shape = shape_of(value)
    wide = chain.broadcast(value, (3, *shape), *range(1, len(shape) + 1))
    return chain.reshape(_slice_value(chain, wide, 1, 2, 0), shape)


def _operation_on_broadcast(chain: Chain, value: Value) -> Value:
    """Write a broadcast of a vector or a scalar, combined with another operand of that shape."""
    shape = shape_of(value)
    first = chain.pick(2)
    wide = (2 + chain.pick(2), *shape) if first else (*shape, 2 + chain.pick(2))
    spread = chain.broadcast(value, wide, *range(first, len(shape) + first))
    if not is_number(tensor_of(spread)):
        return spread
    op = choose(chain.pick, ("add", "multiply", "subtract"))
    return chain.op(op, spread, chain.value_of(tensor_of(spread)))


def _broadcast_of_broadcast(chain: Chain, value: Value) -> Value:
    shape = shape_of(value)
    first = chain.broadcast(value, (2, *shape), *range(1, len(shape) + 1))
    return chain.broadcast(first, (2, *shape, 3), *range(len(shape) + 1))


_INDICES = ("si32", "ui8", "si64", "ui32", "si8", "ui64", "si16", "ui16")


def _start_indices(chain: Chain, value: Value, count: int) -> list[Value]:
    """Return start indices: constants in range, at the edges and over them, or parameters."""
    element_type = ELEMENT_TYPES[choose(chain.pick, _INDICES)]
    if element_type.is_signed and max(shape_of(value), default=0) >= element_type.max_integer:
        element_type = ELEMENT_TYPES["si32"]  # XLA:CPU may otherwise write out of bounds
    scalar = TensorType((), element_type)
    found: list[Value] = []
    for size in shape_of(value)[:count]:
        if chain.pick(3) == 2:
            found.append(chain.parameter(scalar, f"within:-1:{size + 1}", "values:0", "special"))
            continue
        number = choose(chain.pick, (0, 1, size - 1, size, -1, *edges_of(element_type), size + 1))
        held = min(max(number, element_type.min_integer), element_type.max_integer)
        found.append(chain.number(held, scalar))
    return found


def _slice_sizes(chain: Chain, value: Value) -> tuple[int, ...]:
    return tuple(max(size - chain.pick(3), min(size, 1)) for size in shape_of(value))


def _slice_at_index(chain: Chain, value: Value) -> Value:
    indices = _start_indices(chain, value, tensor_of(value).rank)
    return chain.op("dynamic_slice", value, *indices, slice_sizes=_slice_sizes(chain, value))


def _write_back_slice(chain: Chain, value: Value) -> Value:
    indices = _start_indices(chain, value, tensor_of(value).rank)
    part = chain.op("dynamic_slice", value, *indices, slice_sizes=_slice_sizes(chain, value))
    if is_number(tensor_of(part)) and chain.pick(2):
        part = chain.op("add", part, chain.number(1, tensor_of(part)))
    return chain.op("dynamic_update_slice", value, part, *indices)


def _update_with_own_slice(chain: Chain, value: Value) -> Value:
    """Write an update of an array with a slice of itself, and sometimes a reshape of the result."""
    if is_number(tensor_of(value)) and chain.pick(2):
        value = chain.op("add", value, chain.number(1, tensor_of(value)))
    rank, shape = tensor_of(value).rank, shape_of(value)
    sizes = _slice_sizes(chain, value)
    if chain.pick(2):
        indices = _start_indices(chain, value, rank)
        part = chain.op("dynamic_slice", value, *indices, slice_sizes=sizes)
    else:
        part = chain.op(
            "slice", value, start_indices=(0,) * rank, limit_indices=sizes, strides=(1,) * rank
        )
    moved = chain.op("dynamic_update_slice", value, part, *_start_indices(chain, value, rank))
    if chain.pick(3) == 0:
        return moved
    flat = (size_of(tensor_of(value)),)
    return chain.reshape(moved, choose(chain.pick, ((1, *shape), shape[::-1], flat)))


def _overlapping_updates(chain: Chain, value: Value) -> Value:
    """Write two updates at positions that overlap or are the same."""
    sizes = _slice_sizes(chain, value)
    for _ in range(2):
        indices = _start_indices(chain, value, tensor_of(value).rank)
        update = chain.value_of(TensorType(sizes, element(value)))
        value = chain.op("dynamic_update_slice", value, update, *indices)
    return value


def _select_by_position(chain: Chain, value: Value) -> Value:
    of = TensorType(shape_of(value), ELEMENT_TYPES["si32"])
    axis = _choose_axis(chain, value)
    positions = chain.op("iota", to=of, iota_dimension=axis)
    size = of.static_shape[axis]
    edge = chain.number(choose(chain.pick, (1, 0, size, size - 1, -1)), of)
    direction = choose(chain.pick, ("LT", "GE", "EQ", "NE", "GT"))
    return chain.op(
        "select", chain.compare(positions, edge, direction), value, chain.value_of(tensor_of(value))
    )


def _bitcast_to_halves_and_back(chain: Chain, value: Value) -> Value:
    of, shape = element(value), shape_of(value)
    narrow = ELEMENT_TYPES[f"ui{of.bits // 2}"]
    halves = chain.op("bitcast_convert", value, to=TensorType((*shape, 2), narrow))
    if chain.pick(2):
        halves = chain.op("reverse", halves, dimensions=(len(shape),))
    return chain.op("bitcast_convert", halves, to=tensor_of(value))


def _slice_of_elementwise_result(chain: Chain, value: Value) -> Value:
    """Write an elementwise operation and a slice of its result; the other elements are unused."""
    other = chain.value_of(tensor_of(value))
    op = "add" if is_number(tensor_of(value)) else "select"
    if op == "select":
        predicate = chain.value_of(TensorType(shape_of(value), ELEMENT_TYPES["i1"]))
        whole = chain.op("select", predicate, value, other)
    else:
        whole = chain.op("add", value, other)
    axis = _choose_axis(chain, value)
    size = shape_of(value)[axis]
    return _slice_value(chain, whole, min(1, size), size, axis, choose(chain.pick, (1, 2)))


def _matrix_and_its_transpose(chain: Chain, value: Value) -> Value:
    """Write the value as a square matrix, combined with its transpose."""
    matrix = fit_shape(chain, value, TensorType((3, 3), element(value)))
    turned = chain.op("transpose", matrix, permutation=(1, 0))
    if not is_number(tensor_of(value)):
        return chain.op("concatenate", matrix, turned, dimension=0)
    return chain.op(choose(chain.pick, ("add", "subtract", "multiply")), matrix, turned)


def _has_half_width(of: TensorType) -> bool:
    element = of.element
    return is_small(of) and not element.is_complex and element.bits in (16, 32, 64)


def _is_shaped_number(of: TensorType) -> bool:
    return is_shaped(of) and is_number(of)


PATTERNS = (
    Pattern(_double_reverse, is_shaped),
    Pattern(_double_transpose, is_shaped),
    Pattern(_reshape_and_transpose, is_shaped),
    Pattern(_flatten_and_restore, is_shaped),
    Pattern(_slice_of_pad, is_shaped),
    Pattern(_pad_of_pad, is_shaped),
    Pattern(_pad_then_arithmetic, _is_shaped_number),
    Pattern(_slice_of_concatenate, is_shaped),
    Pattern(_concatenate_of_slices, is_shaped),
    Pattern(_slice_of_slice, is_shaped),
    Pattern(_slice_of_reverse, is_shaped),
    Pattern(_broadcast_then_slice, is_small),
    Pattern(_operation_on_broadcast, is_small),
    Pattern(_broadcast_of_broadcast, is_small),
    Pattern(_slice_at_index, is_shaped),
    Pattern(_write_back_slice, is_shaped),
    Pattern(_update_with_own_slice, is_shaped),
    Pattern(_overlapping_updates, is_shaped),
    Pattern(_select_by_position, is_shaped),
    Pattern(_bitcast_to_halves_and_back, _has_half_width),
    Pattern(_slice_of_elementwise_result, is_shaped),
    Pattern(_matrix_and_its_transpose, is_small),
)
"""Patterns of data movement that compilers rewrite."""
