"""Cases of the ops of reference/ops/host.py.

The host is an echo, one per process; on a channel a process sends to itself or to another process
of the program. So a program needs no data but its inputs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from generators.case.case import Case
from generators.case.choices import Pick, choose, seldom
from generators.case.shapes import sizes_label
from generators.families.data_movement import permutation
from generators.families.distribution import IN_MAIN, OF_THE_TYPE, grid_label
from generators.programs.building import Builder
from generators.programs.constructs import STARTED, put_in_construct
from generators.programs.writing import SHAPES, BlockWriter, Writer, scalar
from reference.ir.processes import ProcessGrid
from reference.ir.program import (
    Attribute,
    Dense,
    FutureType,
    Region,
    TensorType,
    TokenType,
    Value,
    ValueType,
)
from reference.ir.types import ElementType, element_type
from reference.ops.host import COLLECTIVES, DEVICE_TO_DEVICE, DEVICE_TO_HOST, HOST_TO_DEVICE
from reference.ops.table import OPS

TOKEN = TokenType()
_COLLECTIVES = tuple(sorted(COLLECTIVES))
SELF = Dense.of(np.zeros((1, 2), np.int64), TensorType((1, 2), element_type("si64")))
"""`source_target_pairs` of a process that sends to itself."""


_GRIDS: tuple[ProcessGrid | None, ...] = (None, None, (2, 1), (4, 1), (1, 2))
"""Grids of one process, of replicas and of partitions."""


def _grid_label(grid: ProcessGrid | None) -> str:
    return "of one process" if grid is None else grid_label(grid)


def _routes(pick: Pick, grid: ProcessGrid | None) -> Dense:
    """Return pairs of sending and receiving processes: each process sends to one process and
    receives from one.
    """
    if grid is None:
        return SELF
    targets = permutation(pick, max(grid))
    pairs = np.array([*enumerate(targets)], np.int64)
    return Dense.of(pairs, TensorType(pairs.shape, element_type("si64")))


def _begin_transfers(element: ElementType, pick: Pick) -> tuple[Writer, BlockWriter, list[Value]]:
    """Return a writer with parameters of several shapes, which are transferred."""
    size = choose(pick, SHAPES, "data", sizes_label)
    pick.has_empty_results = 0 in size
    writer = Writer(pick, TensorType(size, element))
    payload = [writer.parameter(writer.of) for _ in range(choose(pick, (1, 2), "values"))]
    if seldom(pick, 3, "a value of another shape"):
        payload.append(writer.parameter(TensorType(choose(pick, SHAPES), element)))
    return writer, writer.block(), payload


def _infeed_outfeed_case(op: str, element: ElementType, pick: Pick) -> Case:
    """Write a transfer to the host and back; twice, so that the order shows."""
    del op
    writer, block, payload = _begin_transfers(element, pick)
    grid = choose(pick, _GRIDS, "grid", _grid_label)
    (token,) = block.add("after_all", (), TOKEN)
    turns = choose(pick, (1, 2), "turns")
    for number in range(turns):
        given: dict[str, Attribute] = {}
        if seldom(pick, 2, "outfeed_config given"):
            given = {"outfeed_config": f"feed {number}"}
        (token,) = block.add("outfeed", (*payload, token), TOKEN, given=given)
        payload.reverse()
    results: list[Value] = []
    types: list[ValueType] = [value.type for value in payload]
    for turn in range(turns):
        ordered = types if (turns - turn) % 2 == 0 else types[::-1]
        given = {"infeed_config": "feed"} if seldom(pick, 2, "infeed_config given") else {}
        *values, token = block.add("infeed", (token,), *ordered, TOKEN, given=given)
        results += values
    return _run_on_grid(grid, writer.case(block, results))


def _run_on_grid(grid: ProcessGrid | None, made: Case) -> Case:
    """Return the case executed by that many processes."""
    return replace(made, program=replace(made.program, process_grid=grid))


def _send_recv_case(op: str, element: ElementType, pick: Pick) -> Case:
    """Write a transfer to the host and back, to the same process, or between processes."""
    del op
    writer, block, payload = _begin_transfers(element, pick)
    grid: ProcessGrid | None = None
    (token,) = block.add("after_all", (), TOKEN)
    channel, types = 1 + pick(9), [value.type for value in payload]
    if seldom(pick, 2, "is_host_transfer"):
        there: dict[str, Attribute] = {"is_host_transfer": True, "channel_type": DEVICE_TO_HOST}
        back: dict[str, Attribute] = {"is_host_transfer": True, "channel_type": HOST_TO_DEVICE}
    else:
        grid = choose(pick, _GRIDS, "grid", _grid_label)
        pairs = _routes(pick, grid)
        there = {"channel_type": DEVICE_TO_DEVICE, "source_target_pairs": pairs}
        back = there
    (token,) = block.add("send", (*payload, token), TOKEN, given=there | {"channel_id": channel})
    results = block.add("recv", (token,), *types, TOKEN, given=back | {"channel_id": channel})
    return _run_on_grid(grid, writer.case(block, results[:-1]))


def _async_case(op: str, element: ElementType, pick: Pick) -> Case:
    """Write a slice of some kind, or a collective, started and awaited."""
    name = choose(
        pick, ("slice", "dynamic_slice", "dynamic_update_slice", *_COLLECTIVES), "operation"
    )
    if name in _COLLECTIVES:  # its own cells plan its other variations
        of_results = OPS[op].principal.of_results  # the results name the cell and have its type
        drawn = Pick(pick, {"body": choose(pick, OF_THE_TYPE)} if of_results else {})
        return put_in_construct(IN_MAIN[name](element, drawn), STARTED, drawn)
    writer = Writer(pick, TensorType((2 + pick(4), 1 + pick(3)), element))
    operand = writer.parameter(writer.of)
    small = TensorType((1 + pick(2), 1), element)
    at = scalar("si32")
    operands = [operand]
    given: dict[str, Attribute] = {}
    if name == "slice":
        start = pick(2)
        assert small.shape[0] is not None
        given = {
            "start_indices": (start, 0),
            "limit_indices": (start + small.shape[0] if start == 0 else start + 1, 1),
            "strides": (1, 1),
        }
        result = TensorType((small.shape[0] if start == 0 else 1, 1), element)
    elif name == "dynamic_slice":
        result = small
        operands += [writer.parameter(at, "within:-3:9") for _ in range(2)]
        given = {"slice_sizes": small.static_shape}
    else:
        result = writer.of
        operands.append(writer.parameter(small))
        operands += [writer.parameter(at, "within:-3:9") for _ in range(2)]
    block = writer.block()
    body = _body(writer, name, operands, result, given)
    (future,) = block.add("async_start", operands, FutureType((result,)), regions=(body,))
    return writer.case(block, block.add("async_done", (future,), result))


def _body(
    writer: Writer,
    name: str,
    operands: list[Value],
    result: TensorType,
    given: dict[str, Attribute],
) -> Region:
    arguments = tuple(writer.new_value(value.type) for value in operands)
    inner = writer.block(arguments=arguments)
    return inner.finish_region(inner.add(name, arguments, result, given=given))


_BUILD = {
    "async_done": _async_case,
    "async_start": _async_case,
    "infeed": _infeed_outfeed_case,
    "outfeed": _infeed_outfeed_case,
    "recv": _send_recv_case,
    "send": _send_recv_case,
}

BUILDERS: dict[str, Builder] = {op: partial(build, op) for op, build in _BUILD.items()}
"""The builder of each op's cases."""
