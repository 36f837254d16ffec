"""Replica groups that a compiler misreads: with other processes, or in another order.

A mesh may have `device_ids`, "the mapping of grid coordinates to device IDs"; XLA's translation
drops them and takes the number of a coordinate for its id. process_order.py models groups in
another order.
"""

from __future__ import annotations

from collections.abc import Iterator

from conformance.known.xla.processes import process_order
from conformance.transforms.collective import collectives_of
from conformance.transforms.replacing import replace_operations
from reference.ir.mesh import MeshGroups, mesh_groups
from reference.ir.program import Operation, Program

DEVICE_IDS = "device_ids of a mesh ignored"


def rewrite(program: Program) -> Iterator[tuple[Program]]:
    """Yield the program as misread if device_ids are ignored, and also with process groups in
    another order.
    """
    plain = without_device_ids(program)
    if plain is not None:
        yield (plain,)
        yield from process_order.rewrite(plain)


def without_device_ids(program: Program) -> Program | None:
    """Return the program with meshes whose devices are in natural order; None if all are."""
    changed = [(one, _list_groups_in_mesh_order(one)) for one in collectives_of(program)]
    replaced = [(one, (other,)) for one, other in changed if other is not None]
    return replace_operations(program, replaced) if replaced else None


def _list_groups_in_mesh_order(one: Operation) -> Operation | None:
    groups = one.attribute("replica_groups")
    if not isinstance(groups, MeshGroups) or groups.device_ids is None:
        return None
    plain = mesh_groups(groups.mesh, groups.axes)
    if plain.data == groups.data:  # their order is the natural one
        return None
    return one.with_attributes(replica_groups=plain)
