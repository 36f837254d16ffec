"""Functions that libraries apply to the results of products."""

from __future__ import annotations

import math

import numpy as np
import pytest

from conformance.hlo.building import Building
from conformance.hlo.custom_calls import activations
from conformance.hlo.custom_calls.activations import Activation
from reference.interpreter.evaluate import evaluate
from reference.ir.program import Function, Program, Value
from suites.meta.support.small_programs import array, tensor_of

X = [-2.0, -0.0, 0.5, 7.0]


def apply_activation(activation: Activation, alpha: float = 0.25) -> np.ndarray:
    building, value = Building(), Value("x", tensor_of(4))
    result = activation(building, value, alpha)
    body = building.region([value], [result])
    (found,) = evaluate(Program((Function("main", body, (result.type,)),)), [array(X)])
    return found


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    ("activation", "formula"),
    [
        (activations.identity, lambda x: x),
        (activations.relu, lambda x: max(x, 0.0)),
        (activations.relu6, lambda x: min(max(x, 0.0), 6.0)),
        (activations.leaky_relu, lambda x: x if x > 0 else x / 4),
        (activations.elu, lambda x: x if x > 0 else math.expm1(x)),
        (activations.tanh, math.tanh),
        (activations.sigmoid, sigmoid),
        (activations.silu, lambda x: x * sigmoid(x)),
        (activations.gelu, gelu),
    ],
)
def test_activation_is_its_formula(activation: Activation, formula) -> None:
    np.testing.assert_allclose(
        apply_activation(activation), [formula(x) for x in X], rtol=1e-5, atol=1e-7
    )


def test_slope_is_that_of_the_call() -> None:
    assert apply_activation(activations.leaky_relu, 3.0)[0] == -6


def test_constant_has_the_type_of_its_model() -> None:
    found = activations.constant_like(Building(), 2, Value("x", tensor_of(3, of="bf16")))
    assert found.type == tensor_of(3, of="bf16")
