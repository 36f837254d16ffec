"""`shard_map` in GSPMD's form, read as manual computations of Shardy's dialect.

GSPMD has no region for a computation that each device runs on its own shards. Two custom calls
enclose it: `SPMDFullToShardShape` takes a whole array to a device's shard, `SPMDShardToFullShape`
takes shards to the whole array. The operations between them belong to the computation. `Sharding`
states how the array before the first call is placed, an attribute of the second how its result is.

Source: XLA, spmd_partitioner.h (the custom calls), hlo_sharding.h (the text of shardings); jax's
lowering of shard_map.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from conformance.transforms.values import used_values
from reference.interpreter.shards import Mesh, Sharding
from reference.ir.program import Function, Operation, Region, TensorType, Value, attributes
from reference.ir.substitution import replace_operands
from reference.ops.structure import calls_target

_SHARDING = "Sharding"
_ENTRY, _EXIT = "SPMDFullToShardShape", "SPMDShardToFullShape"
_MANUAL, _REPLICATED = "manual", "replicated"

_TILED = re.compile(
    r"\{devices=\[(?P<tiles>[\d,]+)\](?:<=\[(?P<sizes>[\d,]+)\](?:T\((?P<order>[\d,]+)\))?"
    r"|(?P<ids>[\d,]+))(?P<last> last_tile_dim_replicate| last_tile_dims=\{[\w, ]*\})?\}"
)


class _Step(NamedTuple):
    """A part of the ids of devices, like an axis of a mesh: `size` ids at a distance of `stride`."""

    size: int
    stride: int


class _Placement(NamedTuple):
    """The parts of the ids that split each dimension of an array, and those that are manual."""

    dimensions: tuple[tuple[_Step, ...], ...]
    manual: tuple[_Step, ...]


def read_manual_computations(
    functions: Iterable[Function], shardings: Mapping[tuple[str, str], str], devices: int
) -> tuple[Function, ...]:
    """Return functions in which each `shard_map` in GSPMD's form is a manual computation.

    `shardings` are the shardings that custom calls state, by function and first result.

    Raises:
        ValueError: if a computation or a sharding is not as jax writes it.
    """
    functions = tuple(functions)
    if devices == 1 or not any(_target(one) in (_ENTRY, _EXIT) for one in _operations(functions)):
        return functions
    return tuple(
        replace(one, body=_Reader(devices, _of_function(one.name, shardings)).region(one.body))
        for one in functions
    )


def _of_function(name: str, shardings: Mapping[tuple[str, str], str]) -> dict[str, str]:
    return {value: text for (function, value), text in shardings.items() if function == name}


def _operations(functions: Iterable[Function]) -> Iterator[Operation]:
    waiting = [function.body for function in functions]
    while waiting:
        for operation in waiting.pop().operations:
            yield operation
            waiting += operation.regions


def _target(operation: Operation) -> str:
    return str(operation.attribute("call_target_name")) if calls_target(operation) else ""


@dataclass(slots=True)
class _Computation:
    """A manual computation: the calls at its beginning and its end, and the operations between."""

    entries: list[Operation] = field(default_factory=list[Operation])
    exits: list[Operation] = field(default_factory=list[Operation])
    operations: list[Operation] = field(default_factory=list[Operation])


@dataclass(slots=True)
class _Reader:
    """The manual computations of one function."""

    devices: int
    shardings: Mapping[str, str]
    placed: dict[str, str] = field(default_factory=dict[str, str])
    """The shardings that `Sharding` states, by the value that replaces its result."""

    def region(self, region: Region) -> Region:
        """Return a region in which manual computations are operations."""
        operations = self._without_annotations(region.operations)
        operations = [
            replace(one, regions=tuple(map(self.region, one.regions))) for one in operations
        ]
        inside = _group(operations)
        found = {id(one): one for one in inside.values()}
        ...
