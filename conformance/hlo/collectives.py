"""Instructions that exchange values within groups of processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from conformance.hlo.protos import DeviceList, IotaGroups, Mesh, MeshGroups
from conformance.hlo.shapes import Tree, leaf_types
from conformance.hlo.site import Handler, Site
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.program import Dense, Region, TensorType, Value, tensor_of
from reference.ir.types import ELEMENT_TYPES
from reference.ops.distribution.groups import (
    Strategy,
    cross_replica_and_partition,
    ids_of,
    listed_ids,
    strategy_by_channel,
    strategy_by_global_ids,
)

_NO_ID = -1


def _matrix(rows: list[list[int]]) -> Dense:
    """Return lists of ids as a matrix, padded to equal length."""
    width = max(map(len, rows), default=0)
    ids = [[*row, *[_NO_ID] * (width - len(row))] for row in rows]
    array = np.array(ids, np.int64).reshape(len(rows), width)
    return Dense.of(array, TensorType(array.shape, ELEMENT_TYPES["si64"]))


def _iota_groups(groups: IotaGroups) -> list[list[int]]:
    ids = np.arange(groups.num_replica_groups * groups.num_devices_per_group)
    if groups.iota_reshape_dims:
        ids = ids.reshape(groups.iota_reshape_dims).transpose(groups.iota_transpose_perm)
    found: list[list[int]] = ids.reshape(groups.num_replica_groups, -1).tolist()
    return found


def _mesh_groups(groups: MeshGroups) -> Dense:
    mesh = groups.mesh or Mesh()
    axes = [
        AxisRef(mesh.axes[axis.mesh_axis_index].name)
        if axis.sub_axis_info is None
        else AxisRef(
            mesh.axes[axis.mesh_axis_index].name,
            axis.sub_axis_info.pre_size,
            axis.sub_axis_info.size,
        )
        for axis in groups.axes
    ]
    return mesh_groups(
        [MeshAxis(axis.name, axis.size) for axis in mesh.axes], axes, mesh.device_ids or None
    )


def groups_of(site: Site, strategy: Strategy) -> list[list[int]]:
    """Return the groups of ids that an instruction lists, or all ids as one group."""
    meshed = site.instruction.mesh_axes_replica_group_list
    if meshed is not None:
        return listed_ids(_mesh_groups(meshed))
    devices = site.instruction.collective_device_list or DeviceList()
    if devices.iota_replica_group_list is not None:
        return _iota_groups(devices.iota_replica_group_list)
    listed = devices.replica_groups or site.instruction.replica_groups
    if not listed:
        return [list(range(ids_of(strategy, site.computations.grid)))]
    return [group.replica_ids for group in listed]


def _grouping(site: Site) -> dict[str, Any]:
    """Return the attributes of all_gather, all_reduce and reduce_scatter that make groups.

    HLO's groups of all partitions of some replicas list them replica by replica, StableHLO's
    partition by partition. Where that differs, the groups are of global ids.
    """
    is_global = site.instruction.use_global_device_ids
    strategy = strategy_by_global_ids(_channel(site), is_global)
    groups, (_, partitions) = groups_of(site, strategy), site.computations.grid
    if strategy is cross_replica_and_partition and partitions > 1 and max(map(len, groups)) > 1:
        is_global = True
        groups = [
            [r * partitions + p for r in group for p in range(partitions)] for group in groups
        ]
    return {
        "replica_groups": _matrix(groups), "channel_id": _channel(site),
        "use_global_device_ids": is_global,
    }  # fmt: skip


def _channel_strategy(site: Site) -> Strategy:
    """Return the group strategy of collectives that have no attribute `use_global_device_ids`."""
    return strategy_by_channel(_channel(site))


def _channel(site: Site) -> int:
    return max(0, site.instruction.channel_id)


def _combiner(site: Site) -> Region:
    """Return the combining computation in the operands' type.

    A compiler that works in a wider type leaves the computation unchanged: only its operation
    counts.
    """
    body, wanted = site.body(), tensor_of(site.values[0]).element
    *operations, returned = body.operations
    if len(operations) != 1 or tensor_of(body.arguments[0]).element == wanted:
        return body
    scalar = TensorType((), wanted)
    inner = site.building.inner()
    arguments = (inner.value(scalar), inner.value(scalar))
    renamed = dict(zip(body.arguments, arguments, strict=True))
    (one,) = operations
    if set(one.operands) != set(body.arguments) or one.results != returned.operands:
        return body
    result = inner.one(one.name, [renamed[operand] for operand in one.operands], scalar)
    return inner.region(arguments, (result,))


def _all_reduce(site: Site) -> Tree:
    values = site.values
    return _tree(site, site.building.add(
        "all_reduce", values, [tensor_of(value) for value in values], (_combiner(site),),
        **_grouping(site),
    ))  # fmt: skip


def _tree(site: Site, results: tuple[Value, ...]) -> Tree:
    """Return results as a single value, or as a tuple."""
    return results[0] if len(results) == 1 and not site.instruction.shape.tuple_shapes else results


def _all_gather(site: Site) -> Tree:
    return _tree(site, _gather_values(site, tuple(site.types)))


def _gather_values(site: Site, types: tuple[TensorType, ...]) -> tuple[Value, ...]:
    return site.building.add(
        "all_gather", site.values, types, all_gather_dim=site.instruction.dimensions[0],
        **_grouping(site),
    )  # fmt: skip


def _all_gather_start(site: Site) -> Tree:
    """Add an all_gather whose shape lists the operands' shapes first, then the results' shapes."""
    result = site.instruction.shape.tuple_shapes[1]
    types = tuple(of for of in leaf_types(result) if isinstance(of, TensorType))
    values = _gather_values(site, types)
    return (site.operands, values if result.tuple_shapes else values[0])


def _all_to_all(site: Site) -> Tree:
    groups = groups_of(site, _channel_strategy(site))
    if not site.instruction.shape.tuple_shapes:
        return _exchange_parts(site, site.value(0), site.instruction.dimensions[0], groups)
    building, values = site.building, site.values
    of = tensor_of(values[0])
    rows = [building.reshape(value, (1, *of.static_shape)) for value in values]
    together = TensorType((len(rows), *of.static_shape), of.element_type)
    joined = building.one("concatenate", rows, together, dimension=0)
    given = _exchange_parts(site, joined, 0, groups)
    rest = (0,) * of.rank
    return tuple(
        building.reshape(
            building.slice(given, (at, *rest), (at + 1, *of.static_shape)), of.static_shape
        )
        for at in range(len(rows))
    )


def _exchange_parts(site: Site, value: Value, dimension: int, groups: list[list[int]]) -> Value:
    """Add an exchange along one dimension, of as many parts as a group has processes."""
    return site.building.add(
        "all_to_all", (value,), (tensor_of(value),), split_dimension=dimension,
        concat_dimension=dimension, split_count=len(groups[0]),
        replica_groups=_matrix(groups), channel_id=_channel(site),
    )[0]  # fmt: skip


def _permute_values(site: Site) -> tuple[Value, ...]:
    pairs = [[pair.source, pair.target] for pair in site.instruction.source_target_pairs]
    listed = _matrix(pairs) if pairs else Dense(TensorType((0, 2), ELEMENT_TYPES["si64"]), b"")
    return tuple(
        site.building.one(
            "collective_permute", (value,), tensor_of(value), source_target_pairs=listed,
            channel_id=_channel(site),
        )
        for value in site.values
    )  # fmt: skip


def _collective_permute(site: Site) -> Tree:
    return _tree(site, _permute_values(site))


def _collective_permute_start(site: Site) -> Tree:
    results = _permute_values(site)
    return (site.operands, results[0] if len(results) == 1 else results)


def _collective_broadcast(site: Site) -> Tree:
    return _tree(site, site.building.add(
        "collective_broadcast", site.values, site.types,
        replica_groups=_matrix(groups_of(site, _channel_strategy(site))), channel_id=_channel(site),
    ))  # fmt: skip


def _reduce_scatter(site: Site) -> Tree:
    return _tree(site, tuple(
        site.building.one(
            "reduce_scatter", (value,), of, (_combiner(site),),
            scatter_dimension=site.instruction.dimensions[0], **_grouping(site),
        )
        for value, of in zip(site.values, site.types, strict=True)
    ))  # fmt: skip


def _ragged_all_to_all(site: Site) -> Tree:
    return site.building.one(
        "mhlo.ragged_all_to_all", site.values, site.type,
        replica_groups=_matrix(groups_of(site, _channel_strategy(site))), channel_id=_channel(site),
    )  # fmt: skip


def _process_id(name: str) -> Handler:
    return lambda site: site.building.one(name, (), site.type)


def _collective_done(site: Site) -> Tree:
    return site.operands[0]


def _second(site: Site) -> Tree:
    operand = site.operands[0]
    if isinstance(operand, Value):
        raise site.unreadable("its operand was not started")
    return operand[1]


HANDLERS: dict[str, Handler] = {
    "all-gather": _all_gather,
    "all-gather-done": _second,
    "all-gather-start": _all_gather_start,
    "all-reduce": _all_reduce,
    "all-reduce-done": _collective_done,
    "all-reduce-start": _all_reduce,
    "all-to-all": _all_to_all,
    "collective-broadcast": _collective_broadcast,
    "collective-permute": _collective_permute,
    "collective-permute-done": _second,
    "collective-permute-start": _collective_permute_start,
    "partition-id": _process_id("partition_id"),
    "ragged-all-to-all": _ragged_all_to_all,
    "reduce-scatter": _reduce_scatter,
    "replica-id": _process_id("replica_id"),
}
"""The function that reads each opcode."""
