"""The specification's own examples of the ops that move data, evaluated by the reference.

Operands, attributes and results are the specification's (seeds/004).
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import Attribute, Program, TensorType, Value, single_op
from reference.ir.types import Array, element_type_of


@dataclass(frozen=True)
class Example:
    op: str
    operands: tuple[Array, ...]
    result: Array
    attributes: dict[str, Attribute] = field(default_factory=dict)

    @property
    def program(self) -> Program:
        operands = tuple(Value(f"v{n}", type_of(array)) for n, array in enumerate(self.operands))
        return single_op(self.op, operands, (type_of(self.result),), self.attributes)


def type_of(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array))


def si32(values: Any) -> Array:
    return np.array(values, np.int32)


def si64(values: Any) -> Array:
    return np.array(values, np.int64)


ZERO_ZERO_ONE_ONE = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
ONE_TO_SIX = [[1, 2, 3], [4, 5, 6]]
REPEATED = [[[1, 1], [2, 2], [3, 3]]] * 2
PADDED = [
    [0, 1, 0, 0, 2, 0, 0, 3, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 4, 0, 0, 5, 0, 0, 6, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 0, 0, 0],
]

EXAMPLES = (
    Example(
        "broadcast_in_dim", (si32([[1, 2, 3]]),), si32(REPEATED), {"broadcast_dimensions": (2, 1)}
    ),
    Example(
        "concatenate",
        (si64([[1, 2], [3, 4], [5, 6]]), si64([[7, 8]])),
        si64([[1, 2], [3, 4], [5, 6], [7, 8]]),
        {"dimension": 0},
    ),
    Example(
        "dynamic_slice",
        (si32(ZERO_ZERO_ONE_ONE), si64(-1), si64(3)),
        si32([[1, 1], [1, 1]]),
        {"slice_sizes": (2, 2)},
    ),
    Example(
        "dynamic_update_slice",
        (
            si32([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]),
            si32([[1, 1], [1, 1]]),
            si64(-1),
            si64(3),
        ),
        si32(np.ones((4, 4))),
    ),
    Example(
        "pad",
        (si32(ONE_TO_SIX), si32(0)),
        si32(PADDED),
        {"edge_padding_low": (0, 1), "edge_padding_high": (2, 1), "interior_padding": (1, 2)},
    ),
    Example("reshape", (si32(ONE_TO_SIX),), si32([[1, 2], [3, 4], [5, 6]])),
    Example(
        "reverse",
        (si32([[1, 2], [3, 4], [5, 6]]),),
        si32([[2, 1], [4, 3], [6, 5]]),
        {"dimensions": (1,)},
    ),
    Example(
        "slice",
        (si64([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]),),
        si64([[1, 1], [1, 1]]),
        {"start_indices": (1, 2), "limit_indices": (3, 4), "strides": (1, 1)},
    ),
    Example(
        "transpose",
        (si32([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]),),
        si32([[[1, 7], [3, 9], [5, 11]], [[2, 8], [4, 10], [6, 12]]]),
        {"permutation": (2, 1, 0)},
    ),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.op)
def test_example(example: Example) -> None:
    assert check(example.program) == []
    (actual,) = evaluate(example.program, example.operands)
    assert actual.dtype == example.result.dtype
    np.testing.assert_array_equal(actual, example.result, strict=True)
