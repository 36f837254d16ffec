"""The statements of XLA's page about replicas and the infeed, with its figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import check, evaluate, split_by_process
from reference.ir.constants import matrix
from reference.ir.program import (
    Dense,
    Function,
    Operation,
    Program,
    Region,
    TensorType,
    TokenType,
    Value,
    ValueType,
    single_op,
)
from reference.ir.types import Array, element_type
from reference.ops.table import OPS
from reference.ops.xla.lowering import lower_program
from reference.ops.xla.page import UNSUPPORTED_HEADINGS

F32 = element_type("f32")
SUM = fold_of("add", F32).region
EMPTY = [{"replica_groups": matrix([])}, {}]
"""The two ways of listing no groups."""


def vector(*sizes: int) -> TensorType:
    return TensorType(sizes, F32)


def replicated_program(
    op: str, operands: list[TensorType], results: list[TensorType], grid: tuple[int, int],
    **given: Any,
) -> Program:  # fmt: skip
    regions = (SUM,) if OPS[op].regions else ()
    values = tuple(Value(f"v{n}", of) for n, of in enumerate(operands))
    made = replace(single_op(op, values, tuple(results), given, regions), process_grid=grid)
    assert check(made) == []
    assert check(lower_program(made)) == []
    return made


def results_of(program: Program, *arrays: Any) -> list[list[Any]]:
    """Return the results of each process."""
    inputs = [np.array(array, np.float32) for array in arrays]
    shares = split_by_process(program, evaluate(program, inputs))
    return [[one.tolist() for one in share] for share in shares]


@pytest.mark.parametrize("given", EMPTY)
def test_without_groups_all_replicas_are_one_in_order(given: dict[str, Dense]) -> None:
    program = replicated_program(
        "AllGather", [vector(2)], [vector(4)], (2, 1), all_gather_dimension=0, shard_count=2,
        **given,
    )  # fmt: skip
    gathered = [[1.0, 2.5, 3.0, 5.25]]
    assert results_of(program, [1.0, 2.5], [3.0, 5.25]) == [gathered] * 2
    for op in ("AllReduce", "CrossReplicaSum"):
        program = replicated_program(op, [vector(2)], [vector(2)], (2, 1), **given)
        assert results_of(program, [1.0, 2.5], [3.0, 5.25]) == [[[4.0, 7.75]]] * 2
    program = replicated_program(
        "ReduceScatter", [vector(2)], [vector(1)], (2, 1), scatter_dimension=0, shard_count=2,
        **given,
    )  # fmt: skip
    assert results_of(program, [1.0, 2.25], [3.0, 5.25]) == [[[4.0]], [[7.5]]]


@pytest.mark.parametrize("given", EMPTY)
def test_without_groups_four_cores_exchange_blocks(given: dict[str, Dense]) -> None:
    """The page's call: AllToAll(x, 1, 0, 4) of f32[4,16], which gives f32[16,4]."""
    program = replicated_program(
        "AllToAll", [vector(4, 16)], [vector(16, 4)], (4, 1), split_dimension=1,
        concat_dimension=0, split_count=4, **given,
    )  # fmt: skip
    cores = [np.arange(64, dtype=np.float32).reshape(4, 16) + 100 * n for n in range(4)]
    blocks = [[np.split(core, 4, 1)[n] for core in cores] for n in range(4)]
    assert results_of(program, *cores) == [[np.concatenate(own).tolist()] for own in blocks]


@pytest.mark.parametrize("given", EMPTY)
@pytest.mark.parametrize(
    ("said", "added"),
    [
        ({}, [4, 6, 4, 6]),
        ({"channel_id": 1}, [10, 10, 10, 10]),
        ({"channel_id": 1, "use_global_device_ids": True}, [10, 10, 10, 10]),
    ],
)
def test_strategy_determines_ids_without_groups(
    given: dict[str, Dense], said: dict[str, Any], added: list[int]
) -> None:
    program = replicated_program("AllReduce", [vector()], [vector()], (2, 2), **given, **said)
    assert results_of(program, 1, 2, 3, 4) == [[n] for n in added]


def test_without_groups_all_to_all_splits_for_all_replicas() -> None:
    given = {"split_dimension": 0, "concat_dimension": 0, "split_count": 2}
    made = single_op("AllToAll", (Value("x", vector(4)),), (vector(4),), given)
    ((_, ids),) = check(replace(made, process_grid=(4, 1)))
    assert ids == ("P5",)
    assert check(replace(made, process_grid=(2, 1))) == []


@pytest.mark.parametrize(
    "op", ["AllGather", "AllReduce", "AllToAll", "CrossReplicaSum", "ReduceScatter"]
)
def test_groups_that_leave_replicas_out_are_refused(op: str) -> None:
    """Operands are empty, or have as many elements as there are replicas."""
    more: dict[str, dict[str, Any]] = {
        "AllGather": {"all_gather_dimension": 0, "shard_count": 1},
        "AllToAll": {"split_dimension": 0, "concat_dimension": 0, "split_count": 1},
        "ReduceScatter": {"scatter_dimension": 0, "shard_count": 1},
    }
    given = {"replica_groups": matrix([[0]])} | more.get(op, {})
    regions = (SUM,) if OPS[op].regions else ()
    made = single_op(op, (Value("x", vector(2)),), (vector(2),), given, regions)
    assert check(replace(made, process_grid=(1, 1))) == []
    ((_, ids),) = check(replace(made, process_grid=(2, 1)))
    size = {"AllGather": "C3", "AllToAll": "C6", "ReduceScatter": "C4"}
    assert ids == (size.get(op, "C2"),)


def test_each_array_of_a_tuple_is_reduced_and_scattered() -> None:
    program = replicated_program(
        "ReduceScatter", [vector(2), vector(2, 4)], [vector(1), vector(1, 4)], (2, 1),
        scatter_dimension=0, shard_count=2, replica_groups=matrix([[1, 0]]),
    )  # fmt: skip
    wide = np.arange(8).reshape(2, 4)
    results = results_of(program, [1, 2], wide, [10, 20], wide * 10)
    assert results == [[[22], [[44, 55, 66, 77]]], [[11], [[0, 11, 22, 33]]]]


def _infeeds(*payloads: int) -> Program:
    """Return a program that reads this number of arrays, one Infeed after the other."""
    operations, results = list[Operation](), list[Value]()
    token = Value("t", TokenType())
    operations.append(Operation("AfterAll", (), (token,)))
    for n, count in enumerate(payloads):
        types: tuple[ValueType, ...] = (*(vector(2),) * count, TokenType())
        made = tuple(Value(f"v{n}.{m}", of) for m, of in enumerate(types))
        operations.append(Operation("Infeed", (token,), made))
        results += made[:-1]
        token = made[-1]
    body = Region((), (*operations, Operation("return", tuple(results))))
    return Program((Function("main", body, tuple(value.type for value in results)),))


def test_an_infeed_of_an_empty_tuple_reads_nothing() -> None:
    program = _infeeds(0, 1, 0, 2, 0)
    assert check(program) == []
    feed = [(_pair(1, 2),), (_pair(3, 4), _pair(5, 6))]
    results = evaluate(program, [], infeeds=iter(feed))
    assert [result.tolist() for result in results] == [[1, 2], [3, 4], [5, 6]]
    assert evaluate(_infeeds(0, 0), [], infeeds=[]) == ()


def _pair(*numbers: int) -> Array:
    return np.array(numbers, np.float32)


PARAMETERS: dict[str, str] = {
    "AllGather": "operands all_gather_dimension shard_count replica_groups channel_id layout "
    "use_global_device_ids",
    "AllReduce": "operands computation replica_groups channel_id shape_with_layout "
    "use_global_device_ids",
    "AllToAll": "operands split_dimension concat_dimension split_count replica_groups layout "
    "channel_id",
    "CollectiveBroadcast": "operands replica_groups channel_id",
    "CollectivePermute": "operand source_target_pairs channel_id inplace",
    "CrossReplicaSum": "operands replica_groups",
    "Infeed": "config",
    "Outfeed": "inputs shape_with_layout outfeed_config",
    "RaggedAllToAll": "input input_offsets send_sizes output output_offsets recv_sizes "
    "replica_groups channel_id",
    "ReduceScatter": "operands computation scatter_dimension shard_count replica_groups "
    "channel_id layout use_global_device_ids",
}
"""The parameters of the page, operands under the names of the rows."""


@pytest.mark.parametrize("op", PARAMETERS)
def test_every_parameter_is_in_the_row_or_left_out_with_a_reason(op: str) -> None:
    record = OPS[op]
    own = {*record.attributes, *(n.removeprefix("*") for n in (*record.operands, *record.regions))}
    for name in PARAMETERS[op].split():
        reasons = [
            heading
            for heading in UNSUPPORTED_HEADINGS
            if heading.endswith(f": {name}") and op in heading.partition(":")[0].split(", ")
        ]
        assert (name in own) + len(reasons) == 1, name
