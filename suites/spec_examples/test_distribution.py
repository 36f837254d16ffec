"""The specification's own examples of the ops by which processes communicate, evaluated.

Operands by process, attributes and results are the specification's (seeds/004).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from generators.regions.bodies import fold_of
from reference.interpreter.evaluate import check, evaluate, split_by_process
from reference.ir.constants import matrix
from reference.ir.processes import ProcessGrid
from reference.ir.program import Attribute, Program, Region, TensorType, Value, single_op
from reference.ir.types import Array, element_type, element_type_of
from reference.ops.distribution.groups import (
    cross_partition,
    cross_replica,
    cross_replica_and_partition,
    flattened_ids,
)

ADD = fold_of("add", element_type("si64")).region


@dataclass(frozen=True)
class Example:
    op: str
    operands: tuple[tuple[Any, ...], ...]
    """The values of each process, in order."""
    results: tuple[tuple[Any, ...], ...]
    attributes: dict[str, Attribute]
    regions: tuple[Region, ...] = ()
    grid: ProcessGrid = (2, 1)
    dtype: type = np.int64

    def arrays(self, given: tuple[Any, ...]) -> list[Array]:
        return [np.array(one, self.dtype) for one in given]

    @property
    def program(self) -> Program:
        operands = [
            Value(f"v{n}", type_of(array)) for n, array in enumerate(self.arrays(self.operands[0]))
        ]
        results = tuple(map(type_of, self.arrays(self.results[0])))
        made = single_op(self.op, tuple(operands), results, self.attributes, self.regions)
        return replace(made, process_grid=self.grid)


def type_of(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


PAIR = matrix([[0, 1]])

EXAMPLES = (
    Example(
        "all_gather",
        (
            ([[1, 2], [3, 4]], [[11, 12], [13, 14]]),
            ([[5, 6], [7, 8]], [[15, 16], [17, 18]]),
        ),
        (([[1, 2, 5, 6], [3, 4, 7, 8]], [[11, 12, 15, 16], [13, 14, 17, 18]]),) * 2,
        {"all_gather_dim": 1, "replica_groups": PAIR, "channel_id": 0},
    ),
    Example(
        "all_reduce",
        (([1, 2, 3, 4], [9, 10, 11, 12]), ([5, 6, 7, 8], [13, 14, 15, 16])),
        (([6, 8, 10, 12], [22, 24, 26, 28]),) * 2,
        {"replica_groups": PAIR, "channel_id": 0},
        (ADD,),
    ),
    Example(
        "all_to_all",
        (
            ([[1, 2, 3, 4], [5, 6, 7, 8]], [[17, 18, 19, 20], [21, 22, 23, 24]]),
            ([[9, 10, 11, 12], [13, 14, 15, 16]], [[25, 26, 27, 28], [29, 30, 31, 32]]),
        ),
        (
            ([[1, 2], [5, 6], [9, 10], [13, 14]], [[17, 18], [21, 22], [25, 26], [29, 30]]),
            ([[3, 4], [7, 8], [11, 12], [15, 16]], [[19, 20], [23, 24], [27, 28], [31, 32]]),
        ),
        {
            "split_dimension": 1, "concat_dimension": 0, "split_count": 2, "replica_groups": PAIR,
        },
    ),
    Example(
        "collective_broadcast",
        (([[1, 2]],), ([[3, 4]],), ([[5, 6]],), ([[7, 8]],)),
        (([[0, 0]],), ([[5, 6]],), ([[5, 6]],), ([[0, 0]],)),
        {"replica_groups": matrix([[2, 1]]), "channel_id": 0},
        grid=(4, 1),
    ),
    Example(
        "collective_permute",
        (([[1, 2], [3, 4]],), ([[5, 6], [7, 8]],), ([[9, 10], [11, 12]],)),
        (([[0, 0], [0, 0]],), ([[1, 2], [3, 4]],), ([[5, 6], [7, 8]],)),
        {"source_target_pairs": matrix([[0, 1], [1, 2]]), "channel_id": 0},
        grid=(3, 1),
    ),
    Example(
        "collective_reduce",
        (([1, 2, 3, 4],), ([5, 6, 7, 8],)),
        (([6, 8, 10, 12],), ([0, 0, 0, 0],)),
        {"replica_groups": PAIR, "channel_id": 0},
        (ADD,),
    ),
    Example(
        "reduce_scatter",
        (([[1, 2, 3, 4], [5, 6, 7, 8]],), ([[9, 10, 11, 12], [13, 14, 15, 16]],)),
        (([[10, 12], [18, 20]],), ([[14, 16], [22, 24]],)),
        {"scatter_dimension": 1, "replica_groups": PAIR, "channel_id": 0},
        (ADD,),
    ),
    Example("partition_id", ((), ()), ((0,), (1,)), {}, grid=(1, 2), dtype=np.uint32),
    Example("replica_id", ((), ()), ((0,), (1,)), {}, dtype=np.uint32),
)  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.op)
def test_examples(example: Example) -> None:
    program = example.program
    assert check(program) == []
    given = [array for process in example.operands for array in example.arrays(process)]
    results = split_by_process(program, evaluate(program, given))
    for got, wanted in zip(results, example.results, strict=True):
        for array, want in zip(got, example.arrays(wanted), strict=True):
            np.testing.assert_array_equal(array, want)


def test_process_groups() -> None:
    """The examples of the chapter on execution."""
    replicas = [[0, 1], [2, 3]]
    assert cross_replica(replicas, (4, 2)) == [
        [(0, 0), (1, 0)], [(0, 1), (1, 1)], [(2, 0), (3, 0)], [(2, 1), (3, 1)],
    ]  # fmt: skip
    assert cross_partition([[0, 1]], (4, 2)) == [
        [(0, 0), (0, 1)], [(1, 0), (1, 1)], [(2, 0), (2, 1)], [(3, 0), (3, 1)],
    ]  # fmt: skip
    assert cross_replica_and_partition(replicas, (4, 2)) == [
        [(0, 0), (1, 0), (0, 1), (1, 1)], [(2, 0), (3, 0), (2, 1), (3, 1)],
    ]  # fmt: skip
    assert flattened_ids([[0, 1, 2, 3], [4, 5, 6, 7]], (4, 2)) == [
        [(0, 0), (0, 1), (1, 0), (1, 1)], [(2, 0), (2, 1), (3, 0), (3, 1)],
    ]  # fmt: skip
