"""Derivatives of composed functions, as automatic differentiation writes them.

Compilers see these in every training program: factors that cancel in exact arithmetic, but overflow
or give 0 / 0. The formulas come from calculus; a result of the function itself is reused where it
occurs in the derivative, as in exp' = exp.
"""

from __future__ import annotations

from collections.abc import Callable

from generators.case.choices import choose
from generators.chains.chain import Chain
from generators.chains.patterns.pattern import Pattern, is_real
from reference.ir.program import Value, tensor_of

Derivative = Callable[[Chain, Value, Value, Value], Value]
"""A function derivative(chain, x, y, factor): f'(x) times a factor, with y = f(x)."""


def _add_number(chain: Chain, like: Value, number: float) -> Value:
    return chain.number(number, tensor_of(like))


def _log_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("divide", factor, x)


def _exponential_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del x
    return chain.op("multiply", factor, y)


def _log_plus_one_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("divide", factor, chain.op("add", x, _add_number(chain, x, 1)))


def _exponential_minus_one_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    return chain.op("multiply", factor, chain.op("add", y, _add_number(chain, x, 1)))


def _sqrt_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    return chain.op("multiply", factor, chain.op("divide", _add_number(chain, x, 0.5), y))


def _rsqrt_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    slope = chain.op("multiply", _add_number(chain, x, -0.5), chain.op("divide", y, x))
    return chain.op("multiply", factor, slope)


def _abs_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("multiply", factor, chain.op("sign", x))


def _square_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    if chain.pick(2):  # for a product with x as both factors
        part = chain.op("multiply", factor, x)
        return chain.op("add", part, part)
    return chain.op("multiply", factor, chain.op("multiply", _add_number(chain, x, 2), x))


def _tanh_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    square = chain.op("multiply", y, y)
    return chain.op("multiply", factor, chain.op("subtract", _add_number(chain, x, 1), square))


def _logistic_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    rest = chain.op("subtract", _add_number(chain, x, 1), y)
    return chain.op("multiply", factor, chain.op("multiply", y, rest))


def _reciprocal_gradient(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del x
    return chain.op("multiply", chain.op("negate", factor), chain.op("multiply", y, y))


def _square(chain: Chain, x: Value) -> Value:
    return chain.op("multiply", x, x)


def _reciprocal(chain: Chain, x: Value) -> Value:
    return chain.op("divide", _add_number(chain, x, 1), x)


def _function_of_op(name: str) -> Callable[[Chain, Value], Value]:
    return lambda chain, x: chain.op(name, x)


_FUNCTIONS: tuple[tuple[Callable[[Chain, Value], Value], Derivative], ...] = (
    (_function_of_op("log"), _log_gradient),
    (_function_of_op("exponential"), _exponential_gradient),
    (_function_of_op("sqrt"), _sqrt_gradient),
    (_square, _square_gradient),
    (_function_of_op("abs"), _abs_gradient),
    (_function_of_op("rsqrt"), _rsqrt_gradient),
    (_reciprocal, _reciprocal_gradient),
    (_function_of_op("log_plus_one"), _log_plus_one_gradient),
    (_function_of_op("exponential_minus_one"), _exponential_minus_one_gradient),
    (_function_of_op("tanh"), _tanh_gradient),
    (_function_of_op("logistic"), _logistic_gradient),
)
"""Differentiable functions, with their derivatives."""


def _gradient(chain: Chain, value: Value) -> Value:
    """Write the derivative of up to three composed functions; their value may be a result."""
    chain.allow_any_contents(value)
    x, steps = value, list[tuple[Derivative, Value, Value]]()
    for _ in range(choose(chain.pick, (2, 3, 1))):
        function, derivative = choose(chain.pick, _FUNCTIONS)
        y = function(chain, x)
        steps.append((derivative, x, y))
        x = y
    if chain.pick(4) == 3:
        chain.data.append(x)
    factor = _add_number(chain, value, 1) if chain.pick(3) < 2 else chain.value_of(tensor_of(value))
    for derivative, at, result in reversed(steps):
        factor = derivative(chain, at, result, factor)
    return factor


PATTERNS = (Pattern(_gradient, is_real, weight=2),)
