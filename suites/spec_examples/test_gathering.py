"""The specification's own examples of gather, dynamic_gather and scatter (seeds/004)."""

from typing import Any

import numpy as np

from generators.invalid.misses import program, tensor
from generators.regions.bodies import BodyBuilder
from reference.interpreter.evaluate import check, evaluate
from reference.ir.types import ELEMENT_TYPES

SI32, SI64 = ELEMENT_TYPES["si32"], ELEMENT_TYPES["si64"]

BATCHES = np.arange(1, 49).reshape(2, 3, 4, 2)
INDICES = np.array(
    [
        [[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 9]]],
        [[[0, 0], [2, 1], [2, 2]], [[1, 2], [0, 1], [1, 0]]],
    ]
)


def test_gather() -> None:
    given: dict[str, Any] = {
        "offset_dims": (3, 4), "collapsed_slice_dims": (1,), "operand_batching_dims": (0,),
        "start_indices_batching_dims": (1,), "start_index_map": (2, 1), "index_vector_dim": 3,
        "slice_sizes": (1, 1, 2, 2), "indices_are_sorted": False,
    }  # fmt: skip
    types = {"operand": tensor(SI32, 2, 3, 4, 2), "start_indices": tensor(SI64, 2, 2, 3, 2)}
    made = program("gather", types, (tensor(SI32, 2, 2, 3, 2, 2),), **given)
    assert check(made) == []
    (result,) = evaluate(made, [BATCHES.astype(np.int32), INDICES])
    assert result.tolist() == [
        [
            [[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]],
            [[[33, 34], [35, 36]], [[35, 36], [37, 38]], [[41, 42], [43, 44]]],
        ],
        [
            [[[1, 2], [3, 4]], [[13, 14], [15, 16]], [[21, 22], [23, 24]]],
            [[[43, 44], [45, 46]], [[33, 34], [35, 36]], [[27, 28], [29, 30]]],
        ],
    ]


def test_dynamic_gather() -> None:
    given: dict[str, Any] = {
        "offset_dims": (2, 3), "collapsed_slice_dims": (0,), "start_index_map": (1, 0),
        "index_vector_dim": 2, "indices_are_sorted": False,
    }  # fmt: skip
    types = {
        "operand": tensor(SI64, 3, 4, 2), "start_indices": tensor(SI64, 2, 3, 2),
        "slice_sizes": tensor(SI64, 3),
    }  # fmt: skip
    made = program("dynamic_gather", types, (tensor(SI64, 2, 3, 2, 2),), **given)
    assert check(made) == []
    operand = np.arange(1, 25).reshape(3, 4, 2)
    indices = np.array([[[0, 0], [1, 0], [2, 1]], [[0, 1], [1, 1], [0, 2]]])
    (result,) = evaluate(made, [operand, indices, np.array([1, 2, 2])])
    assert result.tolist() == [
        [[[1, 2], [3, 4]], [[3, 4], [5, 6]], [[13, 14], [15, 16]]],
        [[[9, 10], [11, 12]], [[11, 12], [13, 14]], [[17, 18], [19, 20]]],
    ]


def test_scatter() -> None:
    given: dict[str, Any] = {
        "update_window_dims": (3, 4), "inserted_window_dims": (1,), "input_batching_dims": (0,),
        "scatter_indices_batching_dims": (1,), "scatter_dims_to_operand_dims": (2, 1),
        "index_vector_dim": 3, "indices_are_sorted": False, "unique_indices": False,
    }  # fmt: skip
    block = BodyBuilder.of(SI64, SI64)
    body = block.finish_region(block.op("add", *block.arguments))
    types = {
        "input": tensor(SI64, 2, 3, 4, 2), "scatter_indices": tensor(SI64, 2, 2, 3, 2),
        "update": tensor(SI64, 2, 2, 3, 2, 2),
    }  # fmt: skip
    made = program("scatter", types, (tensor(SI64, 2, 3, 4, 2),), (body,), **given)
    assert check(made) == []
    (result,) = evaluate(made, [BATCHES, INDICES, np.ones((2, 2, 3, 2, 2), np.int64)])
    assert result.tolist() == [
        [
            [[3, 4], [6, 7], [6, 7], [7, 8]],
            [[9, 10], [11, 12], [15, 16], [17, 18]],
            [[17, 18], [19, 20], [22, 23], [24, 25]],
        ],
        [
            [[25, 26], [28, 29], [30, 31], [31, 32]],
            [[35, 36], [38, 39], [38, 39], [39, 40]],
            [[41, 42], [44, 45], [46, 47], [47, 48]],
        ],
    ]
