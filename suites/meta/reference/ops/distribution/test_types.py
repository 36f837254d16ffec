"""Each constraint of the collectives, broken in isolation; grids that are unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from generators.regions.bodies import fold_of
from reference.ir.constants import matrix
from reference.ir.program import Program, TensorType
from reference.ir.types import element_type
from reference.ops.distribution import types
from suites.meta.support.ops.violations import violated_by

F32, F64, SI32 = (element_type(name) for name in ("f32", "f64", "si32"))
ADD, WIDER, INTEGERS = (fold_of("add", of).region for of in (F32, F64, SI32))
PAIR, TWO = matrix([[0, 1]]), Program((), process_grid=(2, 1))
"""One group of two processes, and a program of two replicas."""


def of(*shape: int | None, element: Any = F32) -> TensorType:
    return TensorType(shape, element)


IN, ROOT = of(4, 6), of(1, element=SI32)


def check(
    type_function: Callable[..., Any], base: dict[str, Any], changed: dict[str, Any]
) -> list[str]:
    return violated_by(type_function, **base | {"scope": TWO} | changed)


def test_an_id_is_an_unsigned_scalar() -> None:
    assert types.id_type() == of(element=element_type("ui32"))
    assert violated_by(types.id_type, result=of(element=SI32)) == ["result"]


GATHER: dict[str, Any] = {
    "operands": (IN,), "all_gather_dim": 1, "replica_groups": PAIR, "results": (of(4, 12),)
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"all_gather_dim": 2}, ["C1"]),
        ({"replica_groups": matrix([[0, 0]])}, ["C2"]),
        ({"replica_groups": matrix([[0]]), "results": (IN,)}, ["C3"]),
        ({"replica_groups": matrix([[0]]), "results": (IN,), "scope": None}, []),
        ({"replica_groups": matrix([], 2), "scope": None}, ["C3"]),
        ({"replica_groups": matrix([[0, 2]])}, ["C4"]),
        ({"use_global_device_ids": True}, ["C5"]),
        ({"use_global_device_ids": True, "channel_id": 1}, []),
        ({"results": (of(4, 6),)}, ["C6"]),
        ({"results": (of(4, None),)}, []),
        ({"operands": (of(4, None),)}, []),
    ],
)
def test_constraints_of_all_gather(changed: dict[str, Any], ids: list[str]) -> None:
    assert check(types.all_gather_type, GATHER, changed) == ids


def test_groups_of_replicas_have_all_partitions_if_a_channel_is_given() -> None:
    """Two replicas of two partitions each gather four parts, if the grid is known."""
    given = GATHER | {"channel_id": 1}
    two = Program((), process_grid=(2, 2))
    assert check(types.all_gather_type, given, {"scope": two}) == ["C6"]
    assert check(types.all_gather_type, given, {"scope": two, "results": (of(4, 24),)}) == []
    assert check(types.all_gather_type, given, {"scope": None, "results": (of(4, 24),)}) == []


REDUCE: dict[str, Any] = {"operands": (IN,), "replica_groups": PAIR, "computation": ADD}


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"replica_groups": matrix([[0, 0]])}, ["C1"]),
        ({"replica_groups": matrix([[0, -1]])}, ["C2"]),  # -1 fills up a smaller group
        ({"use_global_device_ids": True}, ["C4"]),
        ({"computation": INTEGERS}, ["C5"]),
        ({"results": (of(4, 5),)}, ["C6"]),
        ({"results": (of(4, 6, element=F64),)}, ["C7"]),
    ],
)
def test_constraints_of_all_reduce(changed: dict[str, Any], ids: list[str]) -> None:
    assert check(types.all_reduce_type, REDUCE, changed) == ids


def test_results_have_the_elements_of_the_computation() -> None:
    assert types.all_reduce_type(**REDUCE | {"computation": WIDER}) == (of(4, 6, element=F64),)


SCATTER: dict[str, Any] = {
    "operand": IN, "scatter_dimension": 1, "replica_groups": PAIR, "computation": ADD,
    "result": of(4, 3),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"operand": of(4, 5)}, ["C1"]),
        ({"scatter_dimension": -1}, ["C2"]),
        ({"replica_groups": matrix([[1, 1]])}, ["C3"]),
        ({"use_global_device_ids": True}, ["C6"]),
        ({"computation": INTEGERS}, ["C7"]),
        ({"result": of(4, 6)}, ["C8"]),
        ({"result": of(4, 3, element=F64)}, ["C9"]),
    ],
)
def test_constraints_of_reduce_scatter(changed: dict[str, Any], ids: list[str]) -> None:
    assert check(types.reduce_scatter_type, SCATTER, changed) == ids


EXCHANGE: dict[str, Any] = {
    "operands": (IN,), "split_dimension": 1, "concat_dimension": 0, "split_count": 2,
    "replica_groups": PAIR, "results": (of(8, 3),),
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"concat_dimension": 1, "results": (IN,)}, []),
        ({"split_dimension": 2}, ["C1"]),
        ({"operands": (of(4, 5),)}, ["C2"]),
        ({"concat_dimension": 2}, ["C3"]),
        ({"split_count": 0}, ["C4"]),
        ({"replica_groups": matrix([[0, 0]])}, ["C5"]),
        ({"split_count": 3}, ["C8"]),
        ({"results": (of(4, 6),)}, ["C9"]),
    ],
)
def test_constraints_of_all_to_all(changed: dict[str, Any], ids: list[str]) -> None:
    if "split_count" in changed:
        changed = changed | {"results": (of(12, 2),)}
    assert check(types.all_to_all_type, EXCHANGE, changed) == ids


BROADCAST: dict[str, Any] = {"operands": (IN,), "replica_groups": PAIR}


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"replica_groups": matrix([[1]])}, []),  # need not name every id
        ({"replica_groups": matrix([[1, 1]])}, ["C1"]),
        ({"replica_groups": matrix([[0, 2]])}, ["C2"]),
        ({"replica_groups": matrix([[0, 2]]), "scope": None}, []),
        ({"results": (of(4, 5),)}, ["C3"]),
        ({"operands": ()}, ["C3"]),
        ({"operands": (IN, ROOT), "has_dynamic_root": True, "results": (IN,)}, []),
        ({"operands": (IN, IN), "has_dynamic_root": True}, ["C4"]),
        ({"operands": (ROOT,), "has_dynamic_root": True}, ["C4"]),
        ({"results": (IN, IN)}, ["C5"]),
    ],
)
def test_constraints_of_collective_broadcast(changed: dict[str, Any], ids: list[str]) -> None:
    assert check(types.collective_broadcast_type, BROADCAST, changed) == ids


@pytest.mark.parametrize(
    ("pairs", "ids"),
    [
        ([[0, 1], [1, 0]], []),
        ([[0, 1, 0]], ["C1"]),
        ([[0, 1], [0, 0]], ["C2"]),
        ([[0, 1], [1, 1]], ["C3"]),
        ([[0, 2]], ["C4"]),
        ([[-1, 0]], ["C4"]),
    ],
)
def test_constraints_of_collective_permute(pairs: list[list[int]], ids: list[str]) -> None:
    given = {"operand": IN, "source_target_pairs": matrix(pairs)}
    assert check(types.collective_permute_type, given, {}) == ids
    assert check(types.collective_permute_type, given, {"result": of(4, 5)}) == [*ids, "C5"]


COLLECT: dict[str, Any] = BROADCAST | {"computation": ADD}


@pytest.mark.parametrize(
    ("changed", "ids"),
    [
        ({}, []),
        ({"operands": (IN, ROOT), "has_dynamic_root": True, "results": (IN,)}, []),
        ({"operands": (IN, IN), "has_dynamic_root": True}, ["C3"]),
        ({"results": (of(4, 5),)}, ["C3"]),
        ({"computation": INTEGERS}, ["C4"]),
    ],
)
def test_constraints_of_collective_reduce(changed: dict[str, Any], ids: list[str]) -> None:
    assert check(types.collective_reduce_type, COLLECT, changed) == ids
