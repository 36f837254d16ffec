"""Sharding of a program's arguments and results, as a partitioner decided it.

Source: xla/xla_data.proto (OpSharding), xla/service/hlo.proto (HloModuleProto). The SPMD
partitioner stores the shardings of parameters and results in the module when it has partitioned it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from conformance.hlo.protos import AxisRef, Mesh, NamedSharding, PartitionedModule, Sharding
from conformance.hlo.unreadable import Unreadable
from conformance.hlo.wire import decode
from reference.ir.program import Program, TensorType
from reference.ir.types import Array
from reference.numerics.alike import equal_elements

Part = tuple[slice, ...]
"""The part of an array that a device holds."""

_REPLICATED, _TUPLE, _TILED, _MANUAL = 0, 2, 3, 4
"""Kinds of shardings by their numbers in `OpSharding.Type`."""


class CopiesDiffer(Exception):
    """Raised when devices have different copies of one part of a result; the message is one
    line.
    """


@dataclass(frozen=True, slots=True)
class Placement:
    """The parts of all arguments and results that each device has.

    Attributes:
        count: the number of devices.
        arguments: for each argument, the part of each device.
        results: for each result, the part of each device.
        types: the types of results, unpartitioned.
    """

    count: int
    arguments: tuple[tuple[Part, ...], ...]
    results: tuple[tuple[Part, ...], ...]
    types: tuple[TensorType, ...]

    def split(self, arguments: Sequence[Array]) -> list[list[Array]]:
        """Return the arguments of each device.

        The last parts of a dimension that does not divide evenly are filled up with all bits set: a
        partitioned program must not use these elements.
        """
        given = list(zip(arguments, self.arguments, strict=True))
        return [
            [_filled_up(np.asarray(array[parts[device]]), parts[device]) for array, parts in given]
            for device in range(self.count)
        ]

    def join(self, results: Sequence[Array]) -> tuple[Array, ...]:
        """Return unpartitioned results, given the results of each device.

        Raises:
            CopiesDiffer: when devices have different copies of a part.
        """
        each = len(self.results)
        return tuple(
            _join(index, results[index::each], parts, of)
            for index, (parts, of) in enumerate(zip(self.results, self.types, strict=True))
        )


def placement_of(proto: bytes, program: Program) -> Placement | None:
    """Return how a module places the arguments and results of the program it was made from.

    Args:
        proto: a serialised HloModuleProto.
        program: the program before partitioning, with `shared_among` devices.

    Returns:
        None for a module that is not partitioned yet.

    Raises:
        Unreadable: when a sharding has no meaning to the reference.
    """
    module = decode(PartitionedModule, proto)
    if module.results is None:
        return None
    count = program.shared_among
    types = [_static_type(value.type) for value in program.main.arguments]
    returned = tuple(map(_static_type, program.main.result_types))
    given = module.parameters or [Sharding() for _ in types]
    if module.results.kind == _TUPLE:
        made = module.results.tuple_shardings
    else:
        made = [module.results for _ in returned]
    if (len(given), len(made)) != (len(types), len(returned)):
        raise Unreadable("sharding", "parameters or results are not those of the program")
    return Placement(
        count,
        tuple(_parts(one, of, count) for one, of in zip(given, types, strict=True)),
        tuple(_parts(one, of, count) for one, of in zip(made, returned, strict=True)),
        returned,
    )


def _static_type(of: object) -> TensorType:
    if not isinstance(of, TensorType) or not of.is_static:
        raise Unreadable("sharding", f"{of} is not an array of static shape")
    return of


def _parts(sharding: Sharding, of: TensorType, count: int) -> tuple[Part, ...]:
    """Return the part of an array that each device holds; the last parts may exceed the array."""
    sizes = of.static_shape
    if sharding.named_sharding is not None:
        return _named_parts(sharding.named_sharding, sizes, count)
    if sharding.kind == _REPLICATED:
        return (tuple(slice(0, size) for size in sizes),) * count
    if sharding.kind != _TILED:
        raise Unreadable("sharding", f"its kind {sharding.kind} has no meaning here")
    devices = _devices(sharding)
    tiles = devices.shape[: len(sizes)]
    if devices.size != count or any(kind != _REPLICATED for kind in sharding.last_tile_dims):
        raise Unreadable("sharding", f"it is over {devices.size} devices, or in part manual")
    steps = [math.ceil(size / tile) for size, tile in zip(sizes, tiles, strict=True)]
    parts: dict[int, Part] = {}
    for index in product(*map(range, tiles)):
        part = tuple(slice(n * step, (n + 1) * step) for n, step in zip(index, steps, strict=True))
        parts.update(dict.fromkeys(np.ravel(devices[index]).tolist(), part))
    return tuple(parts[device] for device in range(count))


def _named_parts(sharding: NamedSharding, sizes: tuple[int, ...], count: int) -> tuple[Part, ...]:
    """Return the part of an array that each device of a mesh holds."""
    mesh = sharding.mesh or Mesh()
    lengths = [axis.size for axis in mesh.axes]
    if math.prod(lengths) not in (1, count) or sharding.unreduced_axes or sharding.manual_axes:
        raise Unreadable("sharding", f"it is over {math.prod(lengths)} devices, or in part manual")
    axes = [dimension.axes for dimension in sharding.dimensions] or [[] for _ in sizes]
    parts: dict[int, Part] = {}
    for index, place in enumerate(product(*map(range, lengths))):
        device = mesh.device_ids[index] if mesh.device_ids else index
        tiles = [_tile(along, place, lengths) for along in axes]
        steps = [math.ceil(size / tile[1]) for size, tile in zip(sizes, tiles, strict=True)]
        parts[device] = tuple(
            slice(n * step, (n + 1) * step) for (n, _), step in zip(tiles, steps, strict=True)
        )
    return tuple(parts[device % len(parts)] for device in range(count))


def _tile(axes: Sequence[AxisRef], place: Sequence[int], lengths: Sequence[int]) -> tuple[int, int]:
    """Return the tile at a position of a mesh, and the number of tiles along these axes."""
    number, count = 0, 1
    for axis in axes:
        at, size = place[axis.mesh_axis_index], lengths[axis.mesh_axis_index]
        if axis.sub_axis_info is not None:
            inner = size // (axis.sub_axis_info.pre_size * axis.sub_axis_info.size)
            at, size = at // inner % axis.sub_axis_info.size, axis.sub_axis_info.size
        number, count = number * size + at, count * size
    return number, count


def _devices(sharding: Sharding) -> Array:
    """Return the devices of each tile, as an array with one dimension per tile dimension."""
    if sharding.iota_reshape_dims:
        ids = np.arange(math.prod(sharding.iota_reshape_dims))
        ids = ids.reshape(sharding.iota_reshape_dims).transpose(sharding.iota_transpose_perm)
    else:
        ids = np.array(sharding.tile_assignment_devices)
    return ids.reshape(sharding.tile_assignment_dimensions)


def _filled_up(array: Array, part: Part) -> Array:
    """Return a part of an array in its full size, with all bits set beyond the array's end."""
    sizes = tuple(one.stop - one.start for one in part)
    if array.shape == sizes:
        return array
    filled = np.empty(sizes, array.dtype)
    if array.dtype == np.bool_:
        filled[...] = True
    else:
        filled.view(np.uint8)[...] = 0xFF
    filled[tuple(map(slice, array.shape))] = array
    return filled


def _join(number: int, copies: Sequence[Array], parts: Sequence[Part], of: TensorType) -> Array:
    whole = np.empty(of.static_shape, of.storage)
    owners = np.full(of.static_shape, -1)
    for device, (copy, part) in enumerate(zip(copies, parts, strict=True)):
        place = whole[part]
        inside = copy[tuple(map(slice, place.shape))]
        differs = (owners[part] >= 0) & ~equal_elements(place, inside)
        if differs.any():
            at = tuple(int(n) for n in np.argwhere(differs)[0])
            other = int(owners[part][at])
            index = [int(n) + one.start for n, one in zip(at, part, strict=True)]
            raise CopiesDiffer(
                f"partitions have different copies of result {number}: at {index}, partition "
                f"{other} has {place[at]}, partition {device} {inside[at]}"
            )
        whole[part], owners[part] = inside, device
    return whole
