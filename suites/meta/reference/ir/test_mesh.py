"""Replica groups that are given by axes of a mesh."""

from __future__ import annotations

import pytest

from reference.ir.constraints import ConstraintViolation
from reference.ir.mesh import AxisRef, MeshAxis, mesh_groups
from reference.ir.program import TensorType as Tensor
from reference.ir.types import element_type
from reference.ops.table import OPS

Mesh = tuple[MeshAxis, ...]
Axes = tuple[AxisRef, ...]
Ids = tuple[int, ...] | None
X2, Y2, Y3, X8 = MeshAxis("x", 2), MeshAxis("y", 2), MeshAxis("y", 3), MeshAxis("x", 8)
X, Y = AxisRef("x"), AxisRef("y")


@pytest.mark.parametrize(
    ("mesh", "axes", "device_ids", "wanted"),
    [
        ((X2, Y2), (X,), None, [[0, 2], [1, 3]]),  # StableHLO's own tests: all_reduce_rgv3
        ((X2, Y2), (Y,), None, [[0, 1], [2, 3]]),  # all_gather_rgv3
        ((X2, Y2), (X,), (0, 2, 1, 3), [[0, 1], [2, 3]]),  # all_reduce_sdy_mesh_dev
        ((), (), (0,), [[0]]),  # all_reduce_sdy_mesh_max
        ((X2, Y3), (X, Y), None, [[0, 1, 2, 3, 4, 5]]),
        ((X2, Y3), (Y, X), None, [[0, 3, 1, 4, 2, 5]]),
        ((X2, Y3), (), None, [[0], [1], [2], [3], [4], [5]]),
        ((X8,), (AxisRef("x", 1, 2),), None, [[0, 4], [1, 5], [2, 6], [3, 7]]),
        ((X8,), (AxisRef("x", 2, 2),), None, [[0, 2], [1, 3], [4, 6], [5, 7]]),
        ((X8,), (AxisRef("x", 4, 2), AxisRef("x", 1, 2)), None, [[0, 4, 1, 5], [2, 6, 3, 7]]),
        ((X8,), (AxisRef("x", 2, 1),), None, [[0], [1], [2], [3], [4], [5], [6], [7]]),
        ((MeshAxis("x", 1), Y2), (X, Y), None, [[0, 1]]),
    ],
)
def test_groups_differ_along_the_axes(
    mesh: Mesh, axes: Axes, device_ids: Ids, wanted: list[list[int]]
) -> None:
    groups = mesh_groups(mesh, axes, device_ids)
    assert groups.array.tolist() == wanted
    assert not groups.problem


@pytest.mark.parametrize(
    ("mesh", "axes", "device_ids", "says"),
    [
        ((X2, Y2), (AxisRef("z"),), None, "'z' is not in the mesh"),
        ((X2, X2), (X,), None, "two axes of one name"),
        ((X2, MeshAxis("y", 0)), (X,), None, "no devices"),
        ((X2, Y2), (X,), (0, 1), "2 device_ids for a mesh of 4"),
        ((X2, Y2), (X, X), None, "overlap"),
        ((X8,), (AxisRef("x", 1, 4), AxisRef("x", 2, 2)), None, "overlap"),
        ((X8,), (AxisRef("x", 1, 3),), None, r"no part \(1\)3"),
        ((X2,), (AxisRef("x", 2, 2),), None, r"no part \(2\)2"),
        ((X2,), (AxisRef("x", 0, 2),), None, r"no part \(0\)2"),
    ],
)
def test_axes_that_do_not_fit_their_mesh_are_no_groups(
    mesh: Mesh, axes: Axes, device_ids: Ids, says: str
) -> None:
    of = Tensor((2,), element_type("f32"))
    groups = mesh_groups(mesh, axes, device_ids)
    with pytest.raises(ConstraintViolation, match=says) as caught:
        OPS["all_gather"].infer(of, results=(of,), all_gather_dim=0, replica_groups=groups)
    assert caught.value.id == "I3"
