"""The specification's examples of the batch normalizations."""

import numpy as np

from reference.interpreter.evaluate import check, evaluate
from reference.ir.program import TensorType, Value, single_op
from reference.ir.types import ELEMENT_TYPES
from reference.ops.table import OPS

X = np.array([[[1.0, 2.0], [3.0, 4.0]], [[3.0, 4.0], [1.0, 2.0]]])
NORMALIZED = np.array([[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]])
ONES, MEAN = np.ones(2), np.array([2.0, 3.0])


def of(array):
    return TensorType(array.shape, ELEMENT_TYPES["f64"])


def run(op, operands, results):
    names = OPS[op].operands
    program = single_op(
        op,
        tuple(Value(name, of(array)) for name, array in zip(names, operands, strict=True)),
        tuple(map(of, results)),
        {"epsilon": 0.0, "feature_index": 2},
    )
    assert not check(program)
    return evaluate(program, operands)


def test_batch_norm_grad() -> None:
    """grad_offset is four times the f64 number 0.1, rounded, which prints as 0.4."""
    expected = (np.zeros((2, 2, 2)), np.zeros(2), np.full(2, 0.4))
    grad_output = np.full((2, 2, 2), 0.1)
    results = run("batch_norm_grad", (X, ONES, MEAN, ONES, grad_output), expected)
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, want)


def test_batch_norm_inference() -> None:
    (result,) = run("batch_norm_inference", (X, ONES, ONES, MEAN, ONES), (NORMALIZED,))
    np.testing.assert_array_equal(result, NORMALIZED)


def test_batch_norm_training() -> None:
    expected = (NORMALIZED, MEAN, ONES)
    results = run("batch_norm_training", (X, ONES, ONES), expected)
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, want)
