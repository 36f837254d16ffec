"""Cases of `mhlo.ragged_all_to_all`: the rows that processes exchange.

Offsets and sizes are rows of a constant that all processes share, indexed by the process's id, so
that senders and receivers agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import capped_label
from generators.families.collectives.replica_groups import groups
from generators.families.data_movement import permutation, rows
from generators.families.distribution import GRIDS, grid_label
from generators.programs.building import inputs, operand, prepend_operations
from reference.ir.constants import matrix
from reference.ir.processes import ProcessGrid, processes
from reference.ir.program import (
    Attribute,
    Dense,
    Operation,
    TensorType,
    Value,
    attributes,
    single_op,
)
from reference.ir.types import Array, ElementType
from reference.ir.types import element_type as type_of
from reference.ops.distribution.groups import ids_of, strategy_by_channel

_OP = "mhlo.ragged_all_to_all"
_UI32 = type_of("ui32")
_NAMES = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
_LARGEST_PART = 3
_LENGTHS = (4, 3, 1, 7, 16, 33)
_INNER: tuple[tuple[int, ...], ...] = ((), (3,), (1,), (2, 2), (0,), (5,))
_count = capped_label(2)

Tables = dict[str, Array]
"""Tables of offsets and sizes: for each operand, the rows of all processes by number."""


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The numbers of processes in a group, of updates per process, and of rows of the input."""

    count: int
    updates: int
    length: int


def _receive_offsets(pick: Pick, sizes: Array, slack: int) -> Array:
    """Return positions of parts of these sizes: in any order, with gaps, without overlap."""
    flat, at = sizes.reshape(-1).tolist(), 0
    places = np.zeros(len(flat), np.int64)
    for part in permutation(pick, len(flat)):
        gap = pick(2) if slack else 0
        slack, at = slack - gap, at + gap
        places[part] = at
        at += flat[part]
    return places.reshape(sizes.shape)


def _tables(
    pick: Pick, of: _Exchange, group: Sequence[int], tables: Tables, rows_: int, kind: str
) -> None:
    """Fill in the offsets and sizes of a group's processes; `rows_` is the number of rows of an
    output.
    """
    shape = (of.count, of.count, of.updates)  # sender, receiver, update
    most = min(_LARGEST_PART, of.length)
    sizes = np.array([pick(most + 1) for _ in range(of.count**2 * of.updates)]).reshape(shape)
    if kind == "nothing":
        sizes[pick(of.count)] = 0
    elif kind == "to one":
        sizes[:, 1:] = 0
    offsets = np.array([pick(of.length - n + 1) for n in sizes.reshape(-1).tolist()])
    for receiver, process in enumerate(group):
        part = sizes[:, receiver]
        tables["recv_sizes"][process] = part
        places = _receive_offsets(pick, part, rows_ - int(part.sum()))
        for sender, other in enumerate(group):
            tables["output_offsets"][other, receiver] = places[sender]
    for sender, process in enumerate(group):
        tables["send_sizes"][process] = sizes[sender]
        tables["input_offsets"][process] = offsets.reshape(shape)[sender]


def _own(
    tables: Tables, grid: ProcessGrid, element_type: ElementType
) -> tuple[list[Operation], list[Value]]:
    """Return operations that select the process's own rows of the tables, and their results."""
    scalar = TensorType((), _UI32)
    made: list[Operation] = []

    def add(name: str, operands: Sequence[Value], result: TensorType, **given: Any) -> Value:
        value = Value(f"own.{len(made)}", result)
        made.append(Operation(name, tuple(operands), (value,), attributes(**given)))
        return value

    def number(n: int) -> Value:
        return add("constant", (), scalar, value=Dense.of(np.array(n, np.uint32), scalar))

    at = add("replica_id", (), scalar)
    if grid[1] > 1:
        partition = add("partition_id", (), scalar)
        whole = add("multiply", (at, number(grid[1])), scalar)
        at = add("add", (whole, partition), scalar)
    zero, values = number(0), list[Value]()
    for name in _NAMES:
        table = tables[name].astype(element_type.storage)
        whole_type = TensorType(table.shape, element_type)
        constant = add("constant", (), whole_type, value=Dense.of(table, whole_type))
        one = TensorType((1, *table.shape[1:]), element_type)
        starts = (at, *(zero,) * (table.ndim - 1))
        mine = add("dynamic_slice", (constant, *starts), one, slice_sizes=one.shape)
        values.append(add("reshape", (mine,), TensorType(one.shape[1:], element_type)))
    return made, values


def ragged_all_to_all(element: ElementType, pick: Pick) -> Case:
    """Return a case of `mhlo.ragged_all_to_all`."""
    grid = choose(pick, GRIDS, "grid", grid_label)
    crossing = choose(pick, ("cross_replica", "cross_partition"), "strategy")
    given: dict[str, Attribute] = {} if crossing == "cross_replica" else {"channel_id": 1 + pick(3)}
    strategy = strategy_by_channel(int(crossing != "cross_replica"))
    listed = groups(pick, ids_of(strategy, grid))
    count = len(listed[0])
    updates = choose(pick, (1, 1, 2, 3), "updates", _count)
    flat = updates == 1 and not seldom(pick, 4, "updates of their own dimension")
    exchange = _Exchange(count, updates, choose(pick, _LENGTHS, "rows", _count))
    kind = choose(pick, ("any", "nothing", "to one"), "parts")
    length = _LARGEST_PART * count * updates + pick(3)
    everyone = processes(grid)
    shape = (len(everyone), count, updates)
    tables = {name: np.zeros(shape, np.int64) for name in _NAMES}
    for group in strategy(listed, grid):
        _tables(pick, exchange, [*map(everyone.index, group)], tables, length, kind)
    if flat:
        tables = {name: table[..., 0] for name, table in tables.items()}
    inner = choose(pick, _INNER, "rank of a row", lambda sizes: str(len(sizes)))
    types = [TensorType((n, *inner), element) for n in (exchange.length, length)]
    names = rows(element, times=2)
    places = zip(("input", "output"), types, strict=True)
    placed = [operand(pick, name, of, names[0]) for name, of in places]
    before, values = _own(tables, grid, type_of(choose(pick, ("si32", "si64"), "index type")))
    given["replica_groups"] = matrix(listed)
    program = single_op(_OP, (*placed, *values), (types[1],), given)
    main = program.main
    taken = tuple(value for value in main.arguments if value not in values)
    body = replace(main.body, arguments=taken)
    program = replace(program, functions=(replace(main, body=body),))
    program = replace(prepend_operations(program, tuple(before), ()), process_grid=grid)
    return Case(program, inputs(pick, tuple(placed), names))
