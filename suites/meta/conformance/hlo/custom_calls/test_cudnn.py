"""Convolutions by cuDNN, and their gradients."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from conformance.hlo.custom_calls.cudnn import TARGETS
from conformance.hlo.protos import ConvolutionDimensions, Window, WindowDimension
from conformance.hlo.unreadable import Unreadable
from suites.meta.conformance.hlo.instructions import (
    custom_call,
    evaluate_instruction,
    shape,
    tuple_shape,
)

NUMBERS = ConvolutionDimensions(1, 0, [2], 0, 1, 0, 1, [2], [2])
"""Batch, features, space; the kernel has output features first."""
X = np.array([[[1.0, 2.0, 3.0]]], np.float32)
KERNEL = np.array([[[10.0, 1.0]]], np.float32)
Y = np.array([[[12.0, 23.0]]], np.float32)


def call(target: str, sizes: tuple[int, ...], *operands: np.ndarray, **config: Any) -> np.ndarray:
    one = custom_call(
        target, tuple_shape(shape("f32", *sizes), shape("si8", 2)),
        json.dumps({"cudnn_conv_backend_config": config}),
        window=Window([WindowDimension(2)]), convolution_dimension_numbers=NUMBERS,
    )  # fmt: skip
    found, scratch = evaluate_instruction(TARGETS[target], one, *operands)
    assert scratch.tolist() == [0, 0]
    return found


FORWARD = "__cudnn$convBiasActivationForward"


def test_forward_scales_and_adds_side_input_and_bias_before_the_activation() -> None:
    sizes, bias = (1, 1, 2), np.array([-30.0], np.float32)
    assert call("__cudnn$convForward", sizes, X, KERNEL).tolist() == Y.tolist()
    assert call(FORWARD, sizes, X, KERNEL, bias).tolist() == (Y - 30).tolist()
    found = call(FORWARD, sizes, X, KERNEL, bias, activation_mode="kRelu", conv_result_scale=2)
    assert found.tolist() == [[[0.0, 16.0]]]
    found = call(FORWARD, sizes, X, KERNEL, bias, Y, side_input_scale=1)
    assert found.tolist() == (2 * Y - 30).tolist()


def test_gradients_are_those_of_the_forward_convolution() -> None:
    """Of sum(g * conv(x, k)): by x[i] the sum of g k, by k[j] the sum of g x."""
    gradient = np.array([[[1.0, 100.0]]], np.float32)
    by_input = call("__cudnn$convBackwardInput", (1, 1, 3), gradient, KERNEL)
    assert by_input.tolist() == [[[10.0, 1001.0, 100.0]]]
    by_filter = call("__cudnn$convBackwardFilter", (1, 1, 2), X, gradient)
    assert by_filter.tolist() == [[[201.0, 302.0]]]


@pytest.mark.parametrize(
    ("target", "config"),
    [
        (FORWARD, {"activation_mode": "kCube"}),
        (FORWARD, {"reordered_int8_nchw_vect": True}),
        ("__cudnn$convBackwardInput", {"conv_result_scale": 2}),
    ],
)
def test_options_without_a_meaning_here_are_not_read(target: str, config: dict[str, Any]) -> None:
    with pytest.raises(Unreadable):
        call(target, (1, 1, 2), X, KERNEL, **config)
