"""Collectives in one process, given what the others posted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import body_of
from reference.ir.constants import matrix
from reference.ir.constraints import collect_violations
from reference.ir.errors import EvaluationError
from reference.ir.processes import Process, ProcessId, processes
from reference.ir.program import Operation, Region, TensorType, Value
from reference.ir.regions import Body
from reference.ir.types import Array, element_type
from reference.ops.distribution import distribution
from reference.ops.distribution.distribution import check_roots, contributions, fold_arrays

GRID = (3, 1)
SCALAR = TensorType((), element_type("f32"))
TYPE = TensorType((2,), element_type("f32"))
PAIR = matrix([[2, 0]])
"""A group of two of the three processes, the last one first."""


def operand_of(replica: int) -> Array:
    """Return the operand of a process: 10 times its replica, and 1 more."""
    return np.array([10 * replica, 10 * replica + 1], np.float32)


def process(replica: int, *, several: bool = True) -> Process:
    """Return a process of three, in which all have posted; lists of operands if `several`."""
    values = {
        one: [operand_of(one[0])] if several else operand_of(one[0]) for one in processes(GRID)
    }

    def take(group: Sequence[ProcessId]) -> list[Any]:
        return [values[one] for one in group]

    return Process((replica, 0), GRID, lambda _: None, take, lambda _: None)


def body(op: str, *operands: int) -> Body:
    """Return a body that applies an op to its arguments of these numbers."""
    arguments = Value("lhs", SCALAR), Value("rhs", SCALAR)
    result = Value("r", SCALAR)
    applied = Operation(op, tuple(arguments[number] for number in operands), (result,))
    return body_of(Region(arguments, (applied, Operation("return", (result,)))))


ADD, SUBTRACT = body("add", 0, 1), body("subtract", 0, 1)


def call(name: str, replica: int, *, several: bool = True, **given: Any) -> list[Any]:
    operand = [operand_of(replica)] if several else operand_of(replica)
    found = getattr(distribution, name)(operand, process=process(replica, several=several), **given)
    return [one.tolist() for one in found] if several else found.tolist()


def test_ids_of_a_process() -> None:
    one = Process((2, 1), (3, 2), lambda _: None, lambda _: [], lambda _: None)
    assert distribution.replica_id(process=one) == 2
    assert distribution.partition_id(process=one) == 1


def test_operands_are_gathered_in_the_order_of_the_group() -> None:
    given = {"all_gather_dim": 0, "replica_groups": PAIR, "results": (TYPE,)}
    assert call("all_gather", 0, **given) == [[20, 21, 0, 1]]


@pytest.mark.parametrize(("groups", "why"), [(matrix([]), "is empty"), (PAIR, "is in no group")])
def test_every_process_must_be_in_a_group(groups: Any, why: str) -> None:
    with pytest.raises(EvaluationError, match=why):
        call("all_gather", 1, all_gather_dim=0, replica_groups=groups, results=(TYPE,))


def test_folds_are_in_the_order_of_the_group() -> None:
    assert call("all_reduce", 0, computation=ADD, replica_groups=PAIR) == [[20, 22]]
    assert call("all_reduce", 0, computation=SUBTRACT, replica_groups=PAIR) == [[20, 20]]


def test_a_sum_is_rounded_once() -> None:
    """2^24 + 1 + 1 is 2^24 in steps of f32."""
    arrays = [np.array(number, np.float32) for number in (2.0**24, 1, 1)]
    assert fold_arrays(ADD, arrays) == 2.0**24 + 2


def test_each_process_keeps_its_part_of_a_scattered_fold() -> None:
    given = {"computation": ADD, "replica_groups": PAIR, "scatter_dimension": 0, "result": TYPE}
    assert call("reduce_scatter", 2, several=False, **given) == [20]
    assert call("reduce_scatter", 0, several=False, **given) == [22]


def test_parts_are_exchanged() -> None:
    given = {
        "split_dimension": 0, "concat_dimension": 0, "split_count": 2, "replica_groups": PAIR
    }  # fmt: skip
    assert call("all_to_all", 2, **given) == [[20, 0]]
    assert call("all_to_all", 0, **given) == [[21, 1]]


def test_the_root_of_a_broadcast_is_the_first_and_others_get_zeros() -> None:
    given = {"replica_groups": PAIR, "results": (TYPE,)}
    assert call("collective_broadcast", 0, **given) == [[20, 21]]
    assert call("collective_broadcast", 1, **given) == [[0, 0]]


def test_the_root_of_a_fold_gets_it_and_others_get_zeros() -> None:
    given = {"computation": ADD, "replica_groups": PAIR}
    assert call("collective_reduce", 2, **given) == [[20, 22]]
    assert call("collective_reduce", 0, **given) == [[0, 0]]
    assert call("collective_reduce", 1, **given) == [[0, 0]]


def test_a_process_without_a_source_gets_zeros() -> None:
    given = {"source_target_pairs": matrix([[2, 0], [0, 1]]), "result": TYPE}
    assert call("collective_permute", 0, several=False, **given) == [20, 21]
    assert call("collective_permute", 2, several=False, **given) == [0, 0]


@pytest.mark.parametrize(("roots", "ids"), [([0, 1], []), ([2, 0], ["C6"]), ([-1, 0], ["C6"])])
def test_roots_are_in_their_group(roots: list[int], ids: list[str]) -> None:
    operands = None, None, np.array(roots, np.int32)
    with collect_violations() as found:
        check_roots(operands, replica_groups=PAIR, has_dynamic_root=True)
    assert found.ids == ids
    with collect_violations() as found:
        check_roots(operands, replica_groups=PAIR)
    assert found.ids == []


def test_contributions_to_a_fold() -> None:
    fold = Operation("all_reduce", results=(Value("r", TYPE),))
    (arrays,) = contributions(fold, [operand_of(0)], process(0), {"replica_groups": PAIR})
    assert [one.tolist() for one in arrays or ()] == [[20, 21], [0, 1]]
    assert contributions(Operation("all_gather", results=fold.results), [], process(0), {}) == [
        None
    ]
