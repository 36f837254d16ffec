"""Cases of the ops of reference/ops/distribution/: process grids, groups, operands per process.

A constant is the same in every process; a parameter differs between processes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import limit_elements, shape
from generators.families.collectives.replica_groups import (
    groups_of_any_sizes,
    groups_of_some,
    state_groups,
)
from generators.families.data_movement import LARGEST, limit_sizes, permutation, rows
from generators.programs.building import Builder, inputs, operand, prepend_operations
from generators.programs.constructs import enclose
from generators.regions import bodies, forms
from generators.regions.bodies import BodyBuilder, Monoid
from generators.values.contents import profiles_of
from generators.values.profiles import ProfileRow
from reference.ir.constants import matrix
from reference.ir.processes import ProcessGrid
from reference.ir.program import Attribute, Dense, TensorType, Value, single_op
from reference.ir.types import ElementType, element_type
from reference.ops.distribution.groups import (
    Strategy,
    ids_of,
    strategy_by_channel,
    strategy_by_global_ids,
)

_SI32, _SI64 = element_type("si32"), element_type("si64")

GRIDS: tuple[ProcessGrid, ...] = (
    (2, 1), (4, 1), (4, 1), (8, 1), (1, 4), (2, 2), (2, 4), (4, 2), (3, 1), (1, 2), (3, 2), (1, 1),
)  # fmt: skip
"""Numbers of replicas and partitions; at most 8 processes, as backends have that many devices."""


def grid_label(grid: ProcessGrid) -> str:
    """Return the label of a process grid in a dimension of variation."""
    return f"{grid[0]} x {grid[1]}"


def _choose_grid(pick: Pick) -> ProcessGrid:
    return choose(pick, GRIDS, "grid", grid_label)


_CROSSING = ("cross_replica", "cross_replica_and_partition", "flattened_ids")


def _choose_global_ids(pick: Pick) -> tuple[dict[str, Attribute], Strategy]:
    """Return a channel and whether ids are global, for each of the strategies."""
    name, channel = choose(pick, _CROSSING, "strategy"), 1 + pick(3)
    if name == "cross_replica":
        return _draw_absent_channel(pick), strategy_by_global_ids(0, False)
    flat = name == "flattened_ids"
    given: dict[str, Attribute] = {"channel_id": channel}
    return given | ({"use_global_device_ids": True} if flat else {}), strategy_by_global_ids(
        channel, flat
    )


def _draw_absent_channel(pick: Pick) -> dict[str, Attribute]:
    stated = choose(pick, ("left out", "0"), "channel_id") == "0"
    return {"channel_id": 0} if stated else {}


def _choose_channel(pick: Pick) -> tuple[dict[str, Attribute], Strategy]:
    if choose(pick, ("cross_replica", "cross_partition"), "strategy") == "cross_replica":
        return _draw_absent_channel(pick), strategy_by_channel(0)
    channel = 1 + pick(3)
    return {"channel_id": channel}, strategy_by_channel(channel)


def _case(
    pick: Pick,
    op: str,
    grid: ProcessGrid,
    placed: Sequence[Value | Dense],
    results: tuple[TensorType, ...],
    names: tuple[ProfileRow, ...],
    given: dict[str, Attribute],
    body: Monoid | None = None,
) -> Case:
    regions = () if body is None else (body.region,)
    program = single_op(op, tuple(placed), results, given, regions)
    program = prepend_operations(program, (), () if body is None else body.functions)
    return Case(replace(program, process_grid=grid), inputs(pick, tuple(placed), names))


def _moved_operands(
    pick: Pick, types: Sequence[TensorType]
) -> tuple[list[Value | Dense], tuple[ProfileRow, ...]]:
    """Return operands that are only moved, and the rows of their profiles."""
    names = rows(types[0].element, times=len(types))
    placed = [operand(pick, f"operand{n}", of, names[0]) for n, of in enumerate(types)]
    return placed, names


def _shapes(pick: Pick, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return one shape, or two of the same rank."""
    other = tuple(1 + n % 3 for n in sizes)
    return [sizes, other] if choose(pick, (1, 1, 1, 2), "operands") > 1 else [sizes]


def place(dimension: int) -> str:
    """Return the label of a dimension: the first, which is mostly contiguous, or another."""
    return "the first" if dimension == 0 else "another"


def _resize_dimension(sizes: tuple[int, ...], dimension: int, size: int) -> tuple[int, ...]:
    return (*sizes[:dimension], size, *sizes[dimension + 1 :])


def _all_gather(op: str, element: ElementType, pick: Pick, *, may_be_empty: bool = False) -> Case:
    grid = _choose_grid(pick)
    sizes = limit_sizes(shape(pick, min_rank=1))
    given, strategy = _choose_global_ids(pick)
    listed, groups_ = state_groups(pick, ids_of(strategy, grid), may_be_empty=may_be_empty)
    dimension = choose(pick, range(len(sizes)), "all_gather_dim", place)
    if not sizes[dimension]:  # StableHLO's verifier refuses to gather nothing
        sizes = _resize_dimension(sizes, dimension, 1)
    size = len(strategy(listed, grid)[0])
    if math.prod(sizes) * size > LARGEST:
        sizes = tuple(min(n, 3) for n in sizes)
    types = [TensorType(one, element) for one in _shapes(pick, sizes)]
    results = tuple(
        TensorType(
            _resize_dimension(of.static_shape, dimension, of.static_shape[dimension] * size),
            element,
        )
        for of in types
    )
    placed, names = _moved_operands(pick, types)
    given |= {"all_gather_dim": dimension, "replica_groups": groups_}
    return _case(pick, op, grid, placed, results, names, given)


def _return_argument(element: ElementType, last: bool) -> Monoid:
    """Return a body that returns its first or its last argument: associative, not commutative."""
    block = BodyBuilder.of(element, element)
    names = tuple((name,) for name in profiles_of(element))
    region = block.finish_region(block.arguments[last])
    return Monoid("the last" if last else "the first", region, (element,), (), names)


_ANY_BODY = ("f64", "si32")
"""Element types whose computations may contain any ops.

For other types XLA changes the type of such a computation, and crashes the process.
"""

ONE_OP, KEPT, WIDER, SWAPPED = "one op", "an argument", "wider type", "swapped"
OF_THE_TYPE = (ONE_OP, ONE_OP, KEPT, SWAPPED, forms.IN_FUNCTIONS)
"""Kinds of bodies whose results are of the operands' type."""


def choose_computation(element: ElementType, pick: Pick) -> Monoid:
    """Return a body for elements of a type: mostly one op; it needs no identity."""
    wider = bodies.wider_than(element)
    kinds = (ONE_OP,) * 9 + (SWAPPED, KEPT, forms.IN_FUNCTIONS) + ((WIDER,) if wider else ())
    kind = choose(pick, kinds, "body")
    if kind == KEPT:
        return _return_argument(element, bool(pick(2)))
    op = choose(pick, bodies.monoid_ops(element), "op of the body")
    if kind == WIDER:
        return bodies.fold_of(op, element, choose(pick, wider))
    body = bodies.fold_of(op, element, swapped=kind == SWAPPED)
    if element.name in _ANY_BODY and seldom(pick, 12, forms.NOT_ELEMENTWISE, paired=False):
        return forms.write_non_elementwise(body, pick)
    return forms.call_body(body) if kind == forms.IN_FUNCTIONS else body


def _reduce_sizes(body: Monoid, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes, reduced if the reference evaluates the body element by element."""
    return limit_elements(sizes) if body.few else limit_sizes(sizes)


def _folded_operands(
    pick: Pick, body: Monoid, shapes: Sequence[tuple[int, ...]]
) -> tuple[list[Value | Dense], tuple[ProfileRow, ...]]:
    """Return operands that are folded, and the rows of their profiles."""
    (element,) = body.inputs
    names = tuple(row * len(shapes) for row in body.rows)
    singles = tuple(name for (name,) in body.rows)
    types = [TensorType(sizes, element) for sizes in shapes]
    return [operand(pick, f"operand{n}", of, singles) for n, of in enumerate(types)], names


def _all_reduce(op: str, element: ElementType, pick: Pick, *, may_be_empty: bool = False) -> Case:
    grid = _choose_grid(pick)
    sizes = shape(pick)
    body = choose_computation(element, pick)
    sizes = _reduce_sizes(body, sizes)
    given, strategy = _choose_global_ids(pick)
    given["replica_groups"] = groups_of_any_sizes(
        pick, ids_of(strategy, grid), may_be_empty=may_be_empty
    )
    shapes = _shapes(pick, sizes)
    placed, names = _folded_operands(pick, body, shapes)
    results = tuple(TensorType(one, body.results[0]) for one in shapes)
    return _case(pick, op, grid, placed, results, names, given, body)


def replica_sum_case(op: str, element: ElementType, pick: Pick) -> Case:
    """Return a case of an op that sums across replicas, and whose only attribute is the groups."""
    grid = _choose_grid(pick)
    shapes = _shapes(pick, limit_sizes(shape(pick)))
    given: dict[str, Attribute] = {
        "replica_groups": groups_of_any_sizes(pick, grid[0], may_be_empty=True)
    }
    placed, names = _folded_operands(pick, bodies.fold_of("add", element), shapes)
    results = tuple(TensorType(sizes, element) for sizes in shapes)
    return _case(pick, op, grid, placed, results, names, given)


def _reduce_scatter(
    op: str,
    element: ElementType,
    pick: Pick,
    *,
    may_be_empty: bool = False,
    takes_several: bool = False,
) -> Case:
    """Return a case of one operand, or of several for XlaBuilder's op, which `takes_several`."""
    grid = _choose_grid(pick)
    part = shape(pick, min_rank=1)
    body = choose_computation(element, pick)
    part = _reduce_sizes(body, part)
    given, strategy = _choose_global_ids(pick)
    listed, groups_ = state_groups(pick, ids_of(strategy, grid), may_be_empty=may_be_empty)
    dimension = choose(pick, range(len(part)), "scatter_dimension", place)
    count = len(strategy(listed, grid)[0])
    if not part[dimension]:  # StableHLO's verifier refuses to scatter nothing
        part = _resize_dimension(part, dimension, 1)
    if math.prod(part) * count > LARGEST:
        part = tuple(min(n, 3) for n in part)
    parts = _shapes(pick, part) if takes_several else [part]
    wholes = [_resize_dimension(one, dimension, one[dimension] * count) for one in parts]
    given |= {"scatter_dimension": dimension, "replica_groups": groups_}
    placed, names = _folded_operands(pick, body, wholes)
    results = tuple(TensorType(one, body.results[0]) for one in parts)
    return _case(pick, op, grid, placed, results, names, given, body)


def exchanged_shape(sizes: tuple[int, ...], split: int, joined: int, count: int) -> tuple[int, ...]:
    """Return the shape after all_to_all: divided along one dimension, multiplied along another."""
    part = _resize_dimension(sizes, split, sizes[split] // count)
    return _resize_dimension(part, joined, part[joined] * count)


def _all_to_all(
    op: str,
    element: ElementType,
    pick: Pick,
    *,
    may_be_empty: bool = False,
    takes_several: bool = True,
) -> Case:
    """Return a case of one or two operands; one for XlaBuilder's op."""
    grid = _choose_grid(pick)
    sizes = limit_sizes(shape(pick, min_rank=1))
    given, strategy = _choose_channel(pick)
    listed, groups_ = state_groups(pick, ids_of(strategy, grid), may_be_empty=may_be_empty)
    count = len(listed[0])
    split = choose(pick, range(len(sizes)), "split_dimension", place)
    joined = choose(pick, range(len(sizes)), "concat_dimension", place)
    if math.prod(sizes) * count > LARGEST:
        sizes = tuple(min(n, 3) for n in sizes)
    sizes = _resize_dimension(sizes, split, sizes[split] * count)
    shapes = [sizes]
    if takes_several and choose(pick, (1, 1, 1, 2), "operands") > 1:
        shapes.append(_resize_dimension(sizes, split, 2 * count))
    types = [TensorType(one, element) for one in shapes]
    given |= {
        "split_dimension": split, "concat_dimension": joined, "split_count": count,
        "replica_groups": groups_,
    }  # fmt: skip
    results = tuple(
        TensorType(exchanged_shape(of.static_shape, split, joined, count), element) for of in types
    )
    placed, names = _moved_operands(pick, types)
    return _case(pick, op, grid, placed, results, names, given)


def _choose_roots(pick: Pick, listed: list[list[int]], count: int) -> Dense:
    """Return a root for each operand: an index in the smallest group."""
    size = min(map(len, listed))
    array = np.array([pick(size) for _ in range(count)], np.int32)
    return Dense.of(array, TensorType((count,), _SI32))


def _has_zero(element: ElementType) -> bool:
    """Return whether the type has a zero, which processes outside of all groups receive."""
    return not element.is_float or element.float_format.has_zero


def _draw_rooted_groups(
    pick: Pick, grid: ProcessGrid, count: int, *, has_zero: bool
) -> tuple[dict[str, Attribute], list[Value | Dense]]:
    """Return groups that may omit processes, and sometimes roots as an operand."""
    given, strategy = _choose_channel(pick)
    count_of_ids = ids_of(strategy, grid)
    if has_zero:
        listed, stated = groups_of_some(pick, count_of_ids)
    else:
        listed, stated = state_groups(pick, count_of_ids, may_be_empty=False)
    given["replica_groups"] = stated
    if not seldom(pick, 4, "has_dynamic_root"):
        return given, []
    return given | {"has_dynamic_root": True}, [_choose_roots(pick, listed, count)]


def _collective_broadcast(op: str, element: ElementType, pick: Pick) -> Case:
    grid = _choose_grid(pick)
    types = [TensorType(one, element) for one in _shapes(pick, limit_sizes(shape(pick)))]
    given, roots = _draw_rooted_groups(pick, grid, len(types), has_zero=_has_zero(element))
    placed, names = _moved_operands(pick, types)
    names = tuple((*row, *("small_integers",) * len(roots)) for row in names)
    return _case(pick, op, grid, [*placed, *roots], tuple(types), names, given)


def _collective_reduce(op: str, element: ElementType, pick: Pick) -> Case:
    grid = _choose_grid(pick)
    body = choose_computation(element, pick)
    shapes = _shapes(pick, _reduce_sizes(body, shape(pick)))
    given, roots = _draw_rooted_groups(pick, grid, len(shapes), has_zero=_has_zero(element))
    placed, names = _folded_operands(pick, body, shapes)
    names = tuple((*row, *("small_integers",) * len(roots)) for row in names)
    results = tuple(TensorType(sizes, body.results[0]) for sizes in shapes)
    return _case(pick, op, grid, [*placed, *roots], results, names, given, body)


def _collective_permute(op: str, element: ElementType, pick: Pick) -> Case:
    grid = _choose_grid(pick)
    types = [TensorType(limit_sizes(shape(pick)), element)]
    given, strategy = _choose_channel(pick)
    count = ids_of(strategy, grid)
    sources, targets = permutation(pick, count), permutation(pick, count)
    kinds = ("all", "some", "some") if _has_zero(element) else ("all",)
    kind = choose(pick, (*kinds, "a ring"), "pairs")
    pairs = list(zip(sources, targets, strict=True))
    if kind == "some":
        pairs = pairs[: 1 + pick(count)]
    elif kind == "a ring":
        pairs = [(n, (n + 1) % count) for n in range(count)]
    given["source_target_pairs"] = matrix(pairs, 2)
    placed, names = _moved_operands(pick, types)
    return _case(pick, op, grid, placed, tuple(types), names, given)


def _id(op: str, element: ElementType, pick: Pick) -> Case:
    result = (TensorType((), element),)
    return _case(pick, op, _choose_grid(pick), (), result, (), {})


_BUILD = {
    "all_gather": _all_gather,
    "all_reduce": _all_reduce,
    "all_to_all": _all_to_all,
    "collective_broadcast": _collective_broadcast,
    "collective_permute": _collective_permute,
    "collective_reduce": _collective_reduce,
    "partition_id": _id,
    "reduce_scatter": _reduce_scatter,
    "replica_id": _id,
}

IN_MAIN: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""Builders of each op's cases, with the op in main."""

RESTATABLE: dict[str, Builder] = IN_MAIN | {
    "all_gather": partial(_all_gather, "all_gather", may_be_empty=True),
    "all_reduce": partial(_all_reduce, "all_reduce", may_be_empty=True),
    "all_to_all": partial(_all_to_all, "all_to_all", may_be_empty=True, takes_several=False),
    "reduce_scatter": partial(
        _reduce_scatter, "reduce_scatter", may_be_empty=True, takes_several=True
    ),
}
"""Builders of the cases that XlaBuilder's ops restate. Some are not valid StableHLO: groups may be
empty, and a tuple may be scattered."""

BUILDERS: dict[str, Builder] = {
    op: enclose(build, paired=_BUILD[op] is not _id) for op, build in IN_MAIN.items()
}
"""The builder of each op's cases."""
