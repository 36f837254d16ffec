"""Loops with known trip counts, branches on constants, calls: control flow around data."""

from __future__ import annotations

from generators.case.choices import choose
from generators.chains.chain import Chain, element, shape_of
from generators.chains.fitting import fit_shape
from generators.chains.patterns.pattern import (
    Pattern,
    edges_of,
    is_any,
    is_number,
    is_shaped,
    is_small,
)
from reference.ir.program import TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES, ElementType

_COUNTERS = ("si32", "ui8", "si8", "si64", "ui32", "si16", "si4", "ui2")
_TRIP_COUNTS = (0, 1, 2, 3, 5, 7)

_I1, _SI32 = TensorType((), ELEMENT_TYPES["i1"]), TensorType((), ELEMENT_TYPES["si32"])


def _choose_counter(chain: Chain, of: TensorType) -> tuple[int, int, int, str]:
    """Return the start, step, limit and comparison of a loop's counter.

    The counter may reach the bounds of its type but never wraps. The last iteration may step beyond
    the limit if the comparison handles that.
    """
    low, high = of.element.min_integer, of.element.max_integer
    trips = choose(chain.pick, _TRIP_COUNTS)
    step = choose(chain.pick, (1, 1, 2, 3, -1, -2))
    if step < 0 and low == 0:
        step = -step
    trips = min(trips, (high - max(low, 0)) // abs(step))
    first = choose(chain.pick, ("0", "0", "1", "edge"))
    comparison = choose(chain.pick, ("strictly", "NE", "strictly", "or equal"))
    if step > 0:
        start = {"0": 0, "1": 1, "edge": high - trips * step}[first]
        start = min(start, high - trips * step)
    else:
        start = max({"0": 0, "1": 3, "edge": low - trips * step}[first], low - trips * step)
        start = min(start, high)
    end = start + trips * step
    beyond = chain.pick(abs(step)) if trips and comparison != "NE" else 0
    limit = end - beyond if step > 0 else end + beyond
    if comparison == "or equal" and trips:  # the last number before a step
        limit = limit - 1 if step > 0 else limit + 1
        return start, step, limit, "LE" if step > 0 else "GE"
    return start, step, limit, "NE" if comparison == "NE" else "LT" if step > 0 else "GT"


def _counted_loop(chain: Chain, value: Value) -> Value:
    """Write a loop with a known trip count whose carried values change or swap."""
    counter = TensorType((), ELEMENT_TYPES[choose(chain.pick, _COUNTERS)])
    start, step, limit, comparison = _choose_counter(chain, counter)
    types = (counter, tensor_of(value), tensor_of(value))
    first = (chain.number(start, counter), value, chain.value_of(tensor_of(value)))
    cond = chain.isolated_block(*types)
    going = cond.compare(cond.arguments[0], cond.number(limit, counter), comparison)
    body = chain.nested_block(*types)
    count, one, other = body.arguments
    after = body.op("add", count, body.number(step, counter))
    changed = _update_value(body, count, one, other)
    left = other if chain.pick(2) else one
    pair = (changed, left) if chain.pick(2) else (left, changed)
    region = body.finish_region(after, *pair)
    results = chain.ops("while", first, types, (cond.finish_region(going), region))
    chain.data += results[1:]
    return results[1]


def _update_value(body: Chain, count: Value, one: Value, other: Value) -> Value:
    of = tensor_of(one)
    if of.rank and body.pick(3) == 2 and shape_of(one)[0]:
        return _update_row(body, count, one, other)
    if not is_number(of):
        return body.op("select", body.compare(one, other, "EQ"), other, one)
    kind = body.pick(4)
    if kind == 0:
        return body.op("add", one, other)
    if kind == 1:
        return body.op("subtract", other, one)
    if kind == 2:
        return body.op("add", one, body.number(1, of))
    number = body.op("convert", count, to=TensorType((), of.element))
    return body.op("add", one, body.broadcast(number, of.static_shape))


def _update_row(body: Chain, count: Value, one: Value, other: Value) -> Value:
    """Write an update of `one` with the row of `other` at the counter, at the same row or row 0."""
    zero = body.number(0, tensor_of(count))
    rank = tensor_of(one).rank
    at = [count, *[zero] * (rank - 1)]
    row = body.op("dynamic_slice", other, *at, slice_sizes=(1, *shape_of(one)[1:]))
    if is_number(tensor_of(row)) and body.pick(2):
        row = body.op("add", row, body.number(1, tensor_of(row)))
    return body.op("dynamic_update_slice", one, row, *(at if body.pick(3) else [zero] * rank))


def _loop_of_at_most_one_iteration(chain: Chain, value: Value) -> Value:
    """Write a loop with zero iterations or one, as decided by a constant or a parameter."""
    cond = chain.isolated_block(tensor_of(value), _I1)
    body = chain.nested_block(tensor_of(value), _I1)
    stop = body.number(0, _I1)
    one = body.arguments[0]
    changed = body.op("add", one, one) if is_number(tensor_of(value)) else body.op("xor", one, one)
    begin = chain.number(chain.pick(2), _I1) if chain.pick(2) else chain.parameter(_I1)
    regions = (cond.finish_region(cond.arguments[1]), body.finish_region(changed, stop))
    return chain.ops("while", (value, begin), (tensor_of(value), _I1), regions)[0]


def _conditional(chain: Chain, value: Value) -> Value:
    """Write an if or a case on a constant, in range or out of range, or on a parameter."""
    if chain.pick(2):
        predicate = chain.parameter(_I1) if chain.pick(2) else chain.number(chain.pick(2), _I1)
        return _add_conditional(chain, "if", predicate, value, 2)
    count = choose(chain.pick, (2, 1, 3))
    if chain.pick(2):
        index = chain.parameter(_SI32, "within:-1:3")
    else:
        index = chain.number(choose(chain.pick, (0, 1, 2, -1, 7)), _SI32)
    return _add_conditional(chain, "case", index, value, count)


def _add_conditional(chain: Chain, op: str, on: Value, value: Value, count: int) -> Value:
    of = tensor_of(value)
    kinds = [chain.pick(4) for _ in range(count)]
    regions = []
    for kind in kinds:
        inner = chain.nested_block()
        given = value
        if kind == 1 and is_number(of):
            given = inner.op("add", value, inner.value_of(of))
        elif kind == 2:
            given = inner.draw_constant(of)
        elif kind == 3 and of.rank:
            given = inner.op("reverse", value, dimensions=(0,))
        regions.append(inner.finish_region(given))
    return chain.ops(op, (on,), (of,), tuple(regions))[0]


def _function_call(chain: Chain, value: Value) -> Value:
    """Write one or two calls of a function on the value and another value."""
    of = tensor_of(value)
    body = chain.isolated_block(of, of)
    one, other = body.arguments
    kind = chain.pick(3)
    if kind == 0 or not is_number(of):
        result = body.op("select", body.compare(one, other, "NE"), one, other)
    else:
        result = body.op("subtract" if kind == 1 else "multiply", one, other)
    name = chain.add_function(body, result)
    another = chain.value_of(of)
    (first,) = chain.ops("func.call", (value, another), (of,), callee=name)
    if chain.pick(2):
        (first,) = chain.ops("func.call", (another, first), (of,), callee=name)
    return first


def _can_carry(of: TensorType) -> bool:
    return is_small(of) and (is_number(of) or of.element.is_boolean)


# --- Gathers and scatters ------------------------------------------------------------------------


def _gather_of_rows(chain: Chain, value: Value) -> Value:
    """Write a gather of rows, or of one row by a single index vector.

    Indices are an iota (all rows), constants or parameters, in and out of range.
    """
    of = _choose_index_type(chain)
    value = _expand_rows(chain, value, of)
    shape = shape_of(value)
    one = chain.pick(3) == 2
    indices = _row_index(chain, shape[0], of) if one else _row_indices(chain, shape[0], of)
    first = 0 if one else 1
    return chain.op(
        "gather", value, indices, offset_dims=tuple(range(first, len(shape) - 1 + first)),
        collapsed_slice_dims=(0,), start_index_map=(0,), index_vector_dim=first,
        slice_sizes=(1, *shape[1:]), operand_batching_dims=(), start_indices_batching_dims=(),
        indices_are_sorted=False,
    )  # fmt: skip


def _choose_index_type(chain: Chain) -> ElementType:
    names = ("si32", "ui8", "si8", "si64", "ui32", "ui8", "si8", "ui64", "si16", "ui16")
    return ELEMENT_TYPES[choose(chain.pick, names)]


def _expand_rows(chain: Chain, value: Value, element_type: ElementType) -> Value:
    """Return the value, or its elements in nearly as many rows as an index type can count."""
    if element_type.bits > 8 or chain.pick(2) == 0:
        return value
    rows = element_type.max_integer + choose(chain.pick, (2, 0, 1, 3, 45))
    return fit_shape(chain, value, TensorType((rows,), element(value)))


def _row_indices(chain: Chain, size: int, element_type: ElementType) -> Value:
    """Return a vector of row indices, of an index type."""
    count = min(size, element_type.max_integer)
    kind = chain.pick(8)
    if kind < 2:
        positions = chain.op("iota", to=TensorType((count,), element_type), iota_dimension=0)
        return chain.op("reverse", positions, dimensions=(0,)) if kind else positions
    return _fill_row_indices(
        chain, size, TensorType((min(count, choose(chain.pick, (4, 1))),), element_type)
    )


def _row_index(chain: Chain, size: int, element_type: ElementType) -> Value:
    """Return the index of one row, as an index vector."""
    return _fill_row_indices(chain, size, TensorType((1,), element_type))


def _fill_row_indices(chain: Chain, size: int, line: TensorType) -> Value:
    """Return indices: in range, an edge of their type, an arbitrary constant, or a parameter."""
    of, kind = line.element, chain.pick(6)
    count = min(size, of.max_integer)
    if kind == 0:
        return chain.number(choose(chain.pick, (0, 1, count, min(size - 1, of.max_integer))), line)
    if kind < 3:
        return chain.number(choose(chain.pick, edges_of(of)), line)
    if kind == 3:
        return chain.draw_constant(line)
    return chain.parameter(line, f"within:0:{max(count - 1, 0)}", f"within:-1:{count}")


def _scatter_of_rows(chain: Chain, value: Value) -> Value:
    """Write a scatter of rows, or of one row by a single index vector.

    Rows are added or overwritten; only sums have repeated indices, because of the order.
    """
    index = _choose_index_type(chain)
    value = _expand_rows(chain, value, index)
    shape = shape_of(value)
    one = chain.pick(3) == 2
    indices = _row_index(chain, shape[0], index) if one else _row_indices(chain, shape[0], index)
    first = 0 if one else 1
    size = () if one else shape_of(indices)
    updates = chain.value_of(TensorType((*size, *shape[1:]), element(value)))
    scalar = TensorType((), element(value))
    body = chain.isolated_block(scalar, scalar)
    add = is_number(scalar)
    result = body.op("add" if add else "or", *body.arguments)
    return chain.op(
        "scatter", value, indices, updates,
        update_window_dims=tuple(range(first, len(shape) - 1 + first)),
        inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), index_vector_dim=first,
        input_batching_dims=(), scatter_indices_batching_dims=(), indices_are_sorted=False,
        unique_indices=False, regions=(body.finish_region(result),),
    )  # fmt: skip


def _gather_then_scatter(chain: Chain, value: Value) -> Value:
    """Write a gather and a scatter back to the same rows."""
    shape = shape_of(value)
    of = TensorType((shape[0],), ELEMENT_TYPES["si32"])
    positions = chain.op("iota", to=of, iota_dimension=0)
    turned = chain.op("reverse", positions, dimensions=(0,)) if chain.pick(2) else positions
    rank = len(shape)
    rows = chain.op(
        "gather", value, turned, offset_dims=tuple(range(1, rank)), collapsed_slice_dims=(0,),
        start_index_map=(0,), index_vector_dim=1, slice_sizes=(1, *shape[1:]),
        operand_batching_dims=(), start_indices_batching_dims=(), indices_are_sorted=False,
    )  # fmt: skip
    scalar = TensorType((), element(value))
    body = chain.isolated_block(scalar, scalar)
    return chain.op(
        "scatter", chain.value_of(tensor_of(value)), positions, rows,
        update_window_dims=tuple(range(1, rank)), inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,), index_vector_dim=1, input_batching_dims=(),
        scatter_indices_batching_dims=(), indices_are_sorted=bool(chain.pick(2)),
        unique_indices=bool(chain.pick(2)), regions=(body.finish_region(body.arguments[1]),),
    )  # fmt: skip


def _has_rows(of: TensorType) -> bool:
    return is_shaped(of) and of.static_shape[0] > 0


def _can_sum(of: TensorType) -> bool:
    return _has_rows(of) and (is_number(of) or of.element.is_boolean)


PATTERNS = (
    Pattern(_counted_loop, _can_carry),
    Pattern(_counted_loop, _can_carry),
    Pattern(_loop_of_at_most_one_iteration, _can_carry),
    Pattern(_conditional, is_any),
    Pattern(_function_call, _can_carry),
    Pattern(_gather_of_rows, _has_rows),
    Pattern(_gather_of_rows, _has_rows),
    Pattern(_scatter_of_rows, _can_sum),
    Pattern(_gather_then_scatter, _has_rows),
)
"""Patterns of loops, branches, calls, gathers and scatters that compilers rewrite."""
