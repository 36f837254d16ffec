"""Functions that libraries apply to the results of products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable

from conformance.hlo.building import Building
from reference.ir.program import TensorType, Value, tensor_of

Activation = Callable[[Building, Value, float], Value]
"""A function activation(building, value, alpha) that applies an activation to a value."""


def constant_like(building: Building, number: complex, like: Value) -> Value:
    """Return a constant of the type of another value."""
    of = tensor_of(like)
    return building.full(number, TensorType(of.shape, of.element_type))


def identity(building: Building, value: Value, alpha: float) -> Value:
    """Return the value unchanged."""
    del building, alpha
    return value


def relu(building: Building, value: Value, alpha: float) -> Value:
    """Return the larger of the value and 0."""
    del alpha
    return building.binary("maximum", value, constant_like(building, 0, value))


def relu6(building: Building, value: Value, alpha: float) -> Value:
    """Return the value between 0 and 6."""
    above = relu(building, value, alpha)
    return building.binary("minimum", above, constant_like(building, 6, value))


def leaky_relu(building: Building, value: Value, alpha: float) -> Value:
    """Return the value where it is positive, and alpha times the value where it is not."""
    positive = building.compare("GT", value, constant_like(building, 0, value))
    scaled = building.binary("multiply", value, constant_like(building, alpha, value))
    return building.one("select", (positive, value, scaled), value.type)


def elu(building: Building, value: Value, alpha: float) -> Value:
    """Return the value where it is positive, and exp(x) - 1 where it is not."""
    del alpha
    positive = building.compare("GT", value, constant_like(building, 0, value))
    below = building.unary("exponential_minus_one", value)
    return building.one("select", (positive, value, below), value.type)


def tanh(building: Building, value: Value, alpha: float) -> Value:
    """Return the hyperbolic tangent."""
    del alpha
    return building.unary("tanh", value)


def sigmoid(building: Building, value: Value, alpha: float) -> Value:
    """Return the logistic function."""
    del alpha
    return building.unary("logistic", value)


def gelu(building: Building, value: Value, alpha: float) -> Value:
    """Return cuBLAS's GELU, which approximates the error function by a hyperbolic tangent."""
    del alpha

    def times(factor: float, other: Value) -> Value:
        return building.binary("multiply", other, constant_like(building, factor, other))

    def plus_one(other: Value) -> Value:
        return building.binary("add", other, constant_like(building, 1, other))

    square = building.binary("multiply", value, value)
    inner = building.binary("multiply", value, plus_one(times(0.044715, square)))
    bent = building.unary("tanh", times(math.sqrt(2 / math.pi), inner))
    return building.binary("multiply", times(0.5, value), plus_one(bent))


def silu(building: Building, value: Value, alpha: float) -> Value:
    """Return the value times its logistic function."""
    return building.binary("multiply", value, sigmoid(building, value, alpha))
