"""Replica groups of collectives: listed, or stated by axes of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

from generators.case.choices import Pick, choose, seldom
from generators.families.data_movement import permutation
from reference.ir.constants import matrix
from reference.ir.mesh import AxisRef, MeshAxis, MeshGroups, mesh_groups
from reference.ir.program import Dense
from reference.ops.distribution.groups import is_empty, listed_ids

T = TypeVar("T")

ONE_GROUP, ALONE, SEVERAL, NONE = "one group", "each alone", "several groups", "none listed"
LISTED, AXES, ORDERED, PARTS, DEVICE_IDS = (
    "listed", "axes of a mesh", "axes in an order of their own", "parts of an axis",
    "axes of a mesh with device_ids",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Plan:
    """Groups of one size that contain some of the ids below `ids`."""

    ids: int
    number: int
    size: int

    @property
    def total(self) -> int:
        """The number of ids in groups."""
        return self.number * self.size


def groups(pick: Pick, count: int) -> list[list[int]]:
    """Return all ids below `count` in groups of one size, in any order."""
    return _list_groups(pick, _plan(pick, _kind(pick, count, may_be_empty=False), count))


def state_groups(pick: Pick, count: int, *, may_be_empty: bool) -> tuple[list[list[int]], Dense]:
    """Return groups of all ids below `count`, of one size, and the `replica_groups` that state
    them.

    XlaBuilder's groups may be empty, which means one group of all ids in order. It has no meshes.
    """
    kind = _kind(pick, count, may_be_empty=may_be_empty)
    if kind == NONE:
        return [[*range(count)]], matrix([])
    plan = _plan(pick, kind, count)
    stated = matrix(_list_groups(pick, plan)) if may_be_empty else _write_groups(pick, plan)
    return listed_ids(stated), stated


def groups_of_any_sizes(pick: Pick, count: int, *, may_be_empty: bool) -> Dense:
    """Return groups of all ids below `count`, sometimes of several sizes."""
    listed, stated = state_groups(pick, count, may_be_empty=may_be_empty)
    if is_empty(stated) or isinstance(stated, MeshGroups):
        return stated
    if not seldom(pick, 6, "groups of several sizes") or count == 1:
        return stated
    return pad_groups(_uneven_groups(pick, listed))


def groups_of_some(pick: Pick, count: int) -> tuple[list[list[int]], Dense]:
    """Return groups that sometimes leave out ids below `count`, and their `replica_groups`."""
    plan = _plan(pick, _kind(pick, count, may_be_empty=False), count)
    if seldom(pick, 3, "ids left out"):
        fewer = plan.number > 1
        number, size = (plan.number - 1, plan.size) if fewer else (1, max(1, plan.size - 1))
        plan = _Plan(count, number, size)
    stated = _write_groups(pick, plan)
    return listed_ids(stated), stated


def _kind(pick: Pick, count: int, *, may_be_empty: bool) -> str:
    kinds = (ONE_GROUP,) * 3 + (SEVERAL,) * 3 * bool(_sizes(count)) + (ALONE,) * (count > 1)
    return choose(pick, kinds + (NONE,) * 2 * may_be_empty, "groups")


def _sizes(count: int) -> list[int]:
    """Return the sizes for which several groups contain all ids below `count`."""
    return [size for size in range(2, count) if count % size == 0]


def _plan(pick: Pick, kind: str, count: int) -> _Plan:
    size = choose(pick, _sizes(count)) if kind == SEVERAL else count if kind == ONE_GROUP else 1
    return _Plan(count, count // size, size)


def _list_groups(pick: Pick, plan: _Plan) -> list[list[int]]:
    ids = _order_ids(pick, plan)
    return [list(ids[at : at + plan.size]) for at in range(0, plan.total, plan.size)]


def _order_ids(pick: Pick, plan: _Plan) -> tuple[int, ...]:
    natural = choose(pick, ("any", "any", "natural"), "order of the groups") == "natural"
    ids = tuple(range(plan.ids)) if natural else permutation(pick, plan.ids)
    return ids[: plan.total]


def _write_groups(pick: Pick, plan: _Plan) -> Dense:
    """Return groups in a representation that `pick` chooses.

    A part of an axis is smaller than the axis, so parts require two factors. For groups that omit
    ids this may depend on their size, which is unnamed: they have no parts. The same holds for
    several axes, which are named if a group spans all of them.
    """
    factors = _factors(pick, plan)
    has_parts = len(factors) > 1 and plan.total == plan.ids
    notations = (LISTED,) * 3 + (AXES, DEVICE_IDS) + (PARTS,) * has_parts
    notation = choose(
        pick, notations + (ORDERED,) * (has_parts and plan.number == 1), "groups are stated as"
    )
    if notation == LISTED:
        return matrix(_list_groups(pick, plan))
    mesh = [MeshAxis(f"axis{index}", size) for index, (size, _) in enumerate(factors)]
    along = [AxisRef(axis.name) for axis, (_, inside) in zip(mesh, factors, strict=True) if inside]
    if notation == PARTS:
        sizes = [size for size, _ in factors]
        mesh = [MeshAxis("axis", plan.total)]
        along = [AxisRef("axis", prod(sizes[:index]), size)
                 for index, (size, inside) in enumerate(factors) if inside]  # fmt: skip
    if notation == ORDERED:
        first = 1 + pick(len(along) - 1)
        return mesh_groups(mesh, [*along[first:], *along[:first]])
    device_ids = _order_ids(pick, plan) if notation == DEVICE_IDS else None
    return mesh_groups(mesh, _shuffle(pick, along), device_ids)


def _factors(pick: Pick, plan: _Plan) -> list[tuple[int, bool]]:
    """Return the prime factors of the number of ids, in any order.

    Each comes with whether groups extend along it.
    """
    across = [(size, False) for size in _primes(plan.number)]
    along = [(size, True) for size in _primes(plan.size)]
    return _shuffle(pick, across + along) or [(1, True)]


def _shuffle(pick: Pick, items: Sequence[T]) -> list[T]:
    return [items[at] for at in permutation(pick, len(items))]


def _primes(number: int) -> list[int]:
    factor = next((n for n in range(2, number + 1) if number % n == 0), 0)
    return [factor, *_primes(number // factor)] if factor else []


def _uneven_groups(pick: Pick, given: list[list[int]]) -> list[list[int]]:
    """Return the same ids in two groups of arbitrary sizes."""
    ids = [number for group in given for number in group]
    cut = 1 + pick(len(ids) - 1)
    return [ids[:cut], ids[cut:]]


def pad_groups(given: Sequence[Sequence[int]]) -> Dense:
    """Return groups as MLIR has them: filled up with -1 to the size of the largest."""
    size = max(map(len, given), default=0)
    return matrix([[*group, *[-1] * (size - len(group))] for group in given])
