"""The specification's own examples of the ops whose shapes are operands, by the reference.

Operands, attributes and results are the specification's (seeds/004).
"""

import numpy as np
import pytest

from reference.interpreter.evaluate import check, evaluate
from suites.spec_examples.test_data_movement import (
    ONE_TO_SIX,
    PADDED,
    REPEATED,
    Example,
    si32,
    si64,
)

EXAMPLES = (
    Example(
        "dynamic_broadcast_in_dim",
        (si64([[1, 2, 3]]), si64([2, 3, 2])),
        si64(REPEATED),
        {
            "broadcast_dimensions": (2, 1),
            "known_expanding_dimensions": (0,),
            "known_nonexpanding_dimensions": (1,),
        },
    ),
    Example(
        "dynamic_iota",
        (si64([4, 5]),),
        si64([[0] * 5, [1] * 5, [2] * 5, [3] * 5]),
        {"iota_dimension": 0},
    ),
    Example(
        "dynamic_pad",
        (si64(ONE_TO_SIX), si64(0), si64([0, 1]), si64([2, 1]), si64([1, 2])),
        si64(PADDED),
    ),
    Example("dynamic_reshape", (si64(ONE_TO_SIX), si64([3, 2])), si64([[1, 2], [3, 4], [5, 6]])),
    Example("get_dimension_size", (si64(ONE_TO_SIX),), si32(3), {"dimension": 1}),
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.op)
def test_example(example: Example) -> None:
    assert check(example.program) == []
    (actual,) = evaluate(example.program, example.operands)
    np.testing.assert_array_equal(actual, example.result, strict=True)
