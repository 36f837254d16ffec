"""jax's shard_map in GSPMD's form, read as manual computations of Shardy's dialect.

The form has no region: a call of `SPMDFullToShardShape` turns a value into each device's shard, a
call of `SPMDShardToFullShape` turns shards into a value, and operations between them are each
device's own. The sharding of the value is on the call of `Sharding` before the first, and on the
second.

Source: XLA's HloSharding, in its text form; the programs that jax writes without Shardy.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from conformance.stablehlo.reading.refusal import Unreadable
from conformance.transforms.values import operations_within, used_values
from reference.interpreter.shards import Mesh, Sharding
from reference.ir.program import Operation, Region, TensorType, Value, attributes
from reference.ir.substitution import replace_operands
from reference.ops.structure import MANUAL, RETURNS, calls_target

_ENTRY, _EXIT, _ANNOTATION = "SPMDFullToShardShape", "SPMDShardToFullShape", "Sharding"
_EACH_DEVICE = "{manual}"
_TILES = re.compile(
    r"\{devices=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?( last_tile_dim_replicate)?\}"
)

Step = tuple[int, int]
"""A number of shards, and the distance of the device ids of successive shards."""

Steps = tuple[tuple[Step, ...], ...]
"""The steps that split each dimension, major first."""


def read_manual_computations(region: Region, shardings: Mapping[str, str], devices: int) -> Region:
    """Return a region with the operations of each shard_map moved into a manual computation.

    `shardings` has the annotation of each custom call, by its first result's name.

    Raises:
        Unreadable: a shard_map is manual in part, or within another, or its devices are no mesh.
    """
    inner = [
        replace(
            operation,
            regions=tuple(
                read_manual_computations(each, shardings, devices) for each in operation.regions
            ),
        )
        for operation in region.operations
    ]
    if not any(_target(one) in (_ENTRY, _EXIT) for one in inner):
        return replace(region, operations=tuple(inner))
    return replace(region, operations=_Reading(inner, shardings, devices).operations())


def _target(operation: Operation) -> object:
    return operation.attribute("call_target_name") if calls_target(operation) else None


def _refusal(reason: str) -> Unreadable:
    return Unreadable(
        f"shard_map in GSPMD's form: {reason}; "
        "export it with jax_use_shardy_partitioner, which writes sdy.manual_computation"
    )


class _Reading:
    """The operations of a region, those inside of a shard_map, and where each value is made."""

    def __init__(
        self, given: Sequence[Operation], shardings: Mapping[str, str], devices: int
    ) -> None:
        self._given, self._shardings, self._devices = given, shardings, devices
        self._targets = [_target(one) for one in given]
        self._uses = [tuple(used_values(one)) for one in given]
        self._makers = {value.name: at for at, one in enumerate(given) for value in one.results}
        self._inside = self._find_inside()

    def operations(self) -> tuple[Operation, ...]:
        """Return the operations with manual computations, each where its first result was made."""
        made: dict[int, Operation] = {}
        moved: set[int] = set()
        for members in self._components():
            moved |= set(members)
            exits = [at for at in members if self._targets[at] == _EXIT]
            if exits or any(self._targets[at] != _ENTRY for at in members):
                made[(exits or members[-1:])[0]] = self._manual_computation(members, exits)
        kept = {
            at: made.get(at, one)
            for at, one in enumerate(self._given)
            if at in made or at not in moved
        }
        used = {value.name for one in kept.values() for value in used_values(one)}
        defined: set[str] = set()
        written: list[Operation] = []
        for at, one in kept.items():
            if self._targets[at] == _ANNOTATION and one.results[0].name not in used:
                continue
            if any(v.name in self._makers and v.name not in defined for v in used_values(one)):
                raise _refusal("its operations and others need each other's results")
            defined |= {value.name for value in one.results}
            written.append(one)
        return tuple(written)

    def _find_inside(self) -> list[bool]:
        """Return which operations are each device's own.

        They depend on shards, or are needed by such operations only.
        """
        inside = [target == _ENTRY for target in self._targets]
        for at, uses in enumerate(self._uses):
            makers = [self._makers[value.name] for value in uses if value.name in self._makers]
            inside[at] |= self._targets[at] != _EXIT and any(inside[maker] for maker in makers)
        needed_by: dict[int, list[bool]] = defaultdict(list)
        for at in reversed(range(len(inside))):
            target = self._targets[at]
            inside[at] |= target != _EXIT and bool(needed_by[at]) and all(needed_by[at])
            for value in self._uses[at]:
                if value.name in self._makers:
                    within = target == _EXIT or (target != _ENTRY and inside[at])
                    needed_by[self._makers[value.name]].append(within)
        if any(inside[at] for at, one in enumerate(self._given) if one.name in RETURNS):
            raise _refusal("a device's own value is returned")
        return inside

    def _components(self) -> Iterator[list[int]]:
        """Yield the operations of each shard_map, which are linked by their values."""
        parents = list(range(len(self._given)))

        def root(at: int) -> int:
            while parents[at] != at:
                parents[at] = at = parents[parents[at]]
            return at

        members: dict[int, list[int]] = defaultdict(list)
        own = [at for at, target in enumerate(self._targets) if self._inside[at] or target == _EXIT]
        for at in own:
            for value in () if self._targets[at] == _ENTRY else self._uses[at]:
                maker = self._makers.get(value.name)
                if maker is not None and self._inside[maker]:
                    parents[root(at)] = root(maker)
        for at in own:
            members[root(at)].append(at)
        yield from members.values()

    def _manual_computation(self, members: list[int], exits: list[int]) -> Operation:
        operands: list[Value] = []
        parameters: list[Value] = []
        into: list[Steps] = []
        values: dict[str, Value] = {}
        body: list[Operation] = []

        def take(value: Value) -> None:
            """Pass a value from outside to all devices."""
            maker = self._makers.get(value.name)
            if value.name not in values and (maker is None or not self._inside[maker]):
                operands.append(value)
                values[value.name] = Value(f"r{value.name}", value.type)
                parameters.append(values[value.name])
                into.append(((),) * len(_sizes(value)))

        for at in members:
            one = self._given[at]
            if self._targets[at] == _ENTRY:
                operand, sharding = self._annotated_operand(one)
                operands.append(operand)
                parameters.append(one.results[0])
                into.append(self._steps(sharding, operand, one.results[0]))
                continue
            for value in self._uses[at]:
                take(value)
            if self._targets[at] == _ANNOTATION:
                values[one.results[0].name] = values.get(one.operands[0].name, one.operands[0])
            elif self._targets[at] != _EXIT:
                body.append(replace_operands(one, values))
                if any(each.name == MANUAL for each in operations_within(one)):
                    raise _refusal("a shard_map within another is not read")
        ends = [self._given[at] for at in exits]
        returned = tuple(values.get(v.name, v) for end in ends for v in end.operands)
        results = tuple(end.results[0] for end in ends)
        out = [
            self._steps(self._shardings.get(whole.name, ""), whole, part)
            for whole, part in zip(results, returned, strict=True)
        ]
        mesh = _Mesh.of([*into, *out], self._devices)
        given = attributes(
            mesh=mesh.axes,
            manual_axes=tuple(name for name, _ in mesh.axes),
            in_shardings=tuple(map(mesh.sharding, into)),
            out_shardings=tuple(map(mesh.sharding, out)),
        )
        inner = Region(tuple(parameters), (*body, Operation("sdy.return", returned)))
        return Operation(MANUAL, tuple(operands), results, given, (inner,))

    def _annotated_operand(self, entry: Operation) -> tuple[Value, str]:
        """Return the value that a call turns into shards, and its sharding."""
        if self._shardings.get(entry.results[0].name) != _EACH_DEVICE:
            raise _refusal("axes that the compiler shards beside manual axes are not read")
        maker = self._makers.get(entry.operands[0].name)
        if maker is None or self._targets[maker] != _ANNOTATION:
            raise _refusal(f"no @{_ANNOTATION} comes before @{_ENTRY}")
        annotation = self._given[maker]
        return annotation.operands[0], self._shardings.get(annotation.results[0].name, "")

    def _steps(self, sharding: str, whole: Value, part: Value) -> Steps:
        steps = _read_steps(sharding, len(_sizes(whole)), self._devices)
        counts = [prod(count for count, _ in step) for step in steps]
        if [size * count for size, count in zip(_sizes(part), counts, strict=True)] != [
            *_sizes(whole)
        ]:
            raise _refusal(f"{sharding} does not cut {whole.type} into parts of {part.type}")
        return steps


def _sizes(value: Value) -> tuple[int, ...]:
    if not isinstance(value.type, TensorType) or not value.type.is_static:
        raise _refusal(f"%{value.name} is no tensor of static shape")
    return value.type.static_shape


def _read_steps(sharding: str, rank: int, devices: int) -> Steps:
    """Return the steps of a sharding over all devices, in XLA's text form."""
    if sharding == "{replicated}":
        return ((),) * rank
    found = _TILES.fullmatch(sharding)
    if found is None:
        raise _refusal(f"the sharding {sharding or 'of a value'} is not read")
    tiles, sizes = (list(map(int, found[at].split(","))) for at in (1, 2))
    order = list(map(int, found[3].split(","))) if found[3] else range(len(sizes))
    if prod(tiles) != devices or prod(sizes) != devices or len(tiles) != rank + bool(found[4]):
        raise _refusal(f"the sharding {sharding} is not one of {devices} devices")
    left = [(sizes[at], prod(sizes[at + 1 :])) for at in order]
    steps: list[tuple[Step, ...]] = []
    for tile in tiles:
        taken: list[Step] = []
        while tile > 1:
            count, stride = left.pop(0)
            if count > tile and count % tile == 0:
                left.insert(0, (count // tile, stride))
                count, stride = tile, stride * count // tile
            if tile % count:
                raise _refusal(f"the devices of the sharding {sharding} are no mesh")
            taken += [(count, stride)] if count > 1 else []
            tile //= count
        steps.append(tuple(taken))
    return tuple(steps[:rank])


@dataclass(frozen=True, slots=True)
class _Mesh:
    """The axes of a mesh, and the distance of device ids along each, major axis first."""

    axes: Mesh
    strides: tuple[int, ...]

    @staticmethod
    def of(values: Sequence[Steps], devices: int) -> _Mesh:
        """Return the mesh whose axes make all steps."""
        steps = {step for value in values for dimension in value for step in dimension}
        ends = {end for count, stride in steps for end in (stride, stride * count)}
        cuts = sorted(ends | {1, devices}, reverse=True)
        pairs = list(pairwise(cuts))
        if any(higher % lower for higher, lower in pairs):
            raise _refusal("the devices of its shardings are no mesh")
        axes = tuple((f"x{at}", higher // lower) for at, (higher, lower) in enumerate(pairs))
        return _Mesh(axes, tuple(cuts[1:]))

    def sharding(self, steps: Steps) -> Sharding:
        """Return the axes that split each dimension."""
        return tuple(
            tuple(axis for step in dimension for axis in self._axes_of(*step))
            for dimension in steps
        )

    def _axes_of(self, count: int, stride: int) -> Iterator[str]:
        for (name, _), own in zip(self.axes, self.strides, strict=True):
            if stride <= own < stride * count:
                yield name
