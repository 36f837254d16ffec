"""The specification's own examples of convolutions, evaluated by the reference (seeds/004)."""

import numpy as np
import pytest

from reference.interpreter.evaluate import check, evaluate, violations
from reference.ir.program import Attribute, Dense
from suites.spec_examples.test_data_movement import Example, si64, type_of

IMAGE = si64(
    [
        [
            [[1], [2], [5], [6]],
            [[3], [4], [7], [8]],
            [[10], [11], [14], [15]],
            [[12], [13], [16], [17]],
        ]
    ]
)
KERNEL = np.ones((3, 3, 1, 1), np.int64)
ATTRIBUTES: dict[str, Attribute] = {
    "window_strides": (4, 4),
    "lhs_dilation": (2, 2),
    "rhs_dilation": (1, 1),
    "window_reversal": (False, False),
    "input_batch_dimension": 0,
    "input_feature_dimension": 3,
    "input_spatial_dimensions": (1, 2),
    "kernel_input_feature_dimension": 2,
    "kernel_output_feature_dimension": 3,
    "kernel_spatial_dimensions": (0, 1),
    "output_batch_dimension": 0,
    "output_feature_dimension": 3,
    "output_spatial_dimensions": (1, 2),
    "feature_group_count": 1,
    "batch_group_count": 1,
    "precision_config": ("DEFAULT", "DEFAULT"),
}


def _padding(amount: int) -> Dense:
    array = np.full((2, 2), amount, np.int64)
    return Dense.of(array, type_of(array))


DYNAMIC = Example(
    "dynamic_conv",
    (IMAGE, KERNEL, np.ones((2, 2), np.int64)),
    si64([[[[1], [5]], [[10], [14]]]]),
    ATTRIBUTES,
)
EXAMPLES = (
    Example(
        "convolution",
        (IMAGE, KERNEL),
        si64([[[[10], [26]], [[46], [62]]]]),
        ATTRIBUTES | {"padding": _padding(0)},
    ),
    DYNAMIC,
)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.op)
def test_example(example: Example) -> None:
    assert check(example.program) == []
    (actual,) = evaluate(example.program, example.operands)
    np.testing.assert_array_equal(actual, example.result, strict=True)


def test_the_example_of_dynamic_conv_is_printed_with_a_mistake() -> None:
    """The example states input_spatial_dimensions = [0, 1], though dimension 0 is the batch."""
    printed = dict(ATTRIBUTES)
    printed["input_spatial_dimensions"] = (0, 1)
    example = Example("dynamic_conv", DYNAMIC.operands, DYNAMIC.result, printed)
    assert violations(example.program.subject) == ("C13",)
