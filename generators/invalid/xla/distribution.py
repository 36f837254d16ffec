"""Near misses of XlaBuilder's collectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from generators.invalid.distribution import NEAR_MISSES as TWINS
from generators.invalid.misses import Miss, Misses, program, tensor
from generators.invalid.xla.restated import restate_misses
from generators.regions.bodies import fold_of
from reference.ir.constants import matrix
from reference.ir.types import element_type
from reference.ops.table import OPS

_F32, _SI32 = element_type("f32"), element_type("si32")


def _all_gather(op: str) -> Iterator[Miss]:
    given: dict[str, Any] = {"replica_groups": matrix([[0, 1]]), "shard_count": 2}
    types, result = {"operand": tensor(_F32, 2)}, (tensor(_F32, 4),)
    for id_, more in (
        ("P1", {"all_gather_dimension": 1}),
        ("P1", {"all_gather_dimension": -1}),
        ("P2", {"all_gather_dimension": 0, "shard_count": 3}),
    ):
        made = program(op, types, result, (), **given | more)
        yield id_, replace(made, process_grid=(2, 1))


def _empty_tuple_misses(op: str) -> Iterator[Miss]:
    """Yield near misses of P1: an empty tuple of arrays."""
    body = (fold_of("add", _F32).region,) if OPS[op].regions else ()
    made = program(op, {}, (), body, replica_groups=matrix([[0, 1]]))
    yield "P1", replace(made, process_grid=(2, 1))


def _all_to_all(op: str) -> Iterator[Miss]:
    """Yield near misses of P1 to P5; P2: the operand is a tuple."""
    yield from restate_misses(TWINS["all_to_all"])(op)
    given: dict[str, Any] = {
        "split_dimension": 0, "concat_dimension": 0, "split_count": 2,
        "replica_groups": matrix([[0, 1]]),
    }  # fmt: skip
    of = tensor(_F32, 4)
    for count in (2, 3, 0):
        types = {f"operand{n}": of for n in range(count)}
        yield "P2", replace(program(op, types, (of,) * count, **given), process_grid=(2, 1))


def _reduce_scatter(op: str) -> Iterator[Miss]:
    given: dict[str, Any] = {"replica_groups": matrix([[0, 1]]), "shard_count": 2}
    types, result = {"operand": tensor(_F32, 4)}, (tensor(_F32, 2),)
    body = fold_of("add", _F32).region
    for id_, more in (
        ("P1", {"scatter_dimension": 1}),
        ("P1", {"scatter_dimension": -1}),
        ("P2", {"scatter_dimension": 0, "shard_count": 4}),
    ):
        made = program(op, types, result, (body,), **given | more)
        yield id_, replace(made, process_grid=(2, 1))
    several = {"first": tensor(_F32, 4), "second": tensor(_F32, 6)}
    for id_, operands, results in (
        ("P1", {"first": tensor(_F32, 4), "second": tensor(_F32)}, (2, 2)),
        ("P2", several, (2, 2)),
        ("P2", several, (2,)),
        ("P3", {}, ()),
    ):
        of_results = tuple(tensor(_F32, size) for size in results)
        made = program(op, operands, of_results, (body,), **given, scatter_dimension=0)
        yield id_, replace(made, process_grid=(2, 1))


def _ragged_all_to_all(op: str) -> Iterator[Miss]:
    offsets = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
    pair, of_rows = tensor(_SI32, 2), tensor(_F32, 4, 3)
    names = ("input", *offsets[:2], "output", *offsets[2:])
    for id_, changed in (
        *(("P1", {name: tensor(_SI32, 2, 1)}) for name in offsets),
        ("P2", dict.fromkeys(offsets, tensor(_SI32, 4))),
        ("P2", dict.fromkeys(offsets, tensor(_SI32, 2, 1, 1))),
        ("P3", {"input": tensor(_F32, 4)}),
        ("P3", {"input": tensor(_SI32, 4, 3)}),
        ("P3", {"input": tensor(_F32), "output": tensor(_F32)}),
    ):
        of = dict.fromkeys(offsets, pair) | {"input": of_rows, "output": of_rows} | changed
        types = {name: of[name] for name in names}
        made = program(op, types, (of["output"],), (), replica_groups=matrix([[0, 1]]))
        yield id_, replace(made, process_grid=(2, 1))


NEAR_MISSES: dict[str, Misses] = {
    "AllGather": _all_gather,
    "AllReduce": _empty_tuple_misses,
    "AllToAll": _all_to_all,
    "CollectivePermute": restate_misses(TWINS["collective_permute"]),
    "CrossReplicaSum": _empty_tuple_misses,
    "RaggedAllToAll": _ragged_all_to_all,
    "ReduceScatter": _reduce_scatter,
}
"""The generator of each op's near misses."""

INSEPARABLE: dict[str, tuple[str, ...]] = {}
"""Ids of constraints that are violated only with others: none."""
