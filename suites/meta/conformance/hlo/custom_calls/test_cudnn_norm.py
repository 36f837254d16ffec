"""Normalisations by cuDNN."""

from __future__ import annotations

import json

import numpy as np
import pytest

from conformance.hlo.custom_calls.cudnn_norm import TARGETS
from conformance.hlo.unreadable import Unreadable
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    tuple_shape,
)

X = np.array([[1.0, 3.0], [10.0, 14.0]], np.float32)
SCALE = np.array([[1.0, 10.0]], np.float32)
BIAS = np.array([[0.5, 0.0]], np.float32)


def normalise(kind: str, epsilon: float, *results) -> list[np.ndarray]:
    config = json.dumps({"cudnn_norm_backend_config": {"kind": kind, "epsilon": epsilon}})
    call = custom_call("__cudnn$norm", tuple_shape(*results), config)
    return evaluate_instruction(TARGETS["__cudnn$norm"], call, X, SCALE, BIAS)


def test_rows_have_mean_0_and_variance_1_before_scale_and_bias() -> None:
    result, scratch = normalise("LAYER_FWD_INFER", 0.0, shape("f32", 2, 2), shape("si8", 1))
    np.testing.assert_allclose(result, [[-0.5, 10.0]] * 2, rtol=1e-6)
    assert scratch.tolist() == [0]


def test_training_returns_means_and_inverse_deviations() -> None:
    row = shape("f32", 2, 1)
    _, mean, factor = normalise("LAYER_FWD_TRAIN", 3.0, shape("f32", 2, 2), row, row)
    assert mean.tolist() == [[2.0], [12.0]]
    np.testing.assert_allclose(factor, [[1 / 2], [1 / 7**0.5]], rtol=1e-6)


def test_other_kinds_are_not_read() -> None:
    with pytest.raises(Unreadable, match="kind BATCH"):
        normalise("BATCH", 0.0, shape("f32", 2, 2))


def test_gradient_of_a_normalised_row_is_orthogonal_to_it() -> None:
    """By Ba et al., "Layer Normalization": centred, and without the part along the row."""
    config = json.dumps({"cudnn_norm_backend_config": {"kind": "LAYER_BWD"}})
    results = tuple_shape(shape("f32", 2, 3), shape("f32", 1, 3), shape("f32", 1, 3))
    x = np.array([[0.0, 3.0, 6.0], [1.0, 1.0, 4.0]], np.float32)
    mean, factor = x.mean(1, keepdims=True), 1 / x.std(1, keepdims=True)
    gradient = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], np.float32)
    ones = np.ones((1, 3), np.float32)
    by_x, by_scale, by_bias = evaluate_instruction(
        TARGETS["__cudnn$norm"], custom_call("__cudnn$norm", results, config),
        x, ones, gradient, mean, factor.astype(np.float32),
    )  # fmt: skip
    normal = (x - mean) * factor
    np.testing.assert_allclose(by_x.sum(1), [0, 0], atol=1e-5)
    np.testing.assert_allclose((by_x * normal).sum(1), [0, 0], atol=1e-5)
    np.testing.assert_allclose(by_scale, (gradient * normal).sum(0, keepdims=True), rtol=1e-5)
    assert by_bias.tolist() == [[1.0, 2.0, 0.0]]
