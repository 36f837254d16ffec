"""Derivatives of composed functions, as automatic differentiation writes them.

Compilers see these in every training program: factors that cancel in exact arithmetic, but overflow
or give 0 / 0. The formulas are those of calculus; a result of the function itself is reused where
it occurs in the derivative, as in exp' = exp.
"""

from __future__ import annotations

from collections.abc import Callable

from generators.case.choices import choose
from generators.chains.chain import Chain, tensor
from generators.chains.patterns.pattern import Pattern, real
from reference.ir.program import Value

Derivative = Callable[[Chain, Value, Value, Value], Value]
"""derivative(chain, x, y, factor): f'(x) times a factor, y being f(x)."""


def _number(chain: Chain, like: Value, number: float) -> Value:
    return chain.number(number, tensor(like))


def _of_log(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("divide", factor, x)


def _of_exponential(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del x
    return chain.op("multiply", factor, y)


def _of_log_plus_one(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("divide", factor, chain.op("add", x, _number(chain, x, 1)))


def _of_exponential_minus_one(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    return chain.op("multiply", factor, chain.op("add", y, _number(chain, x, 1)))


def _of_root(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    return chain.op("multiply", factor, chain.op("divide", _number(chain, x, 0.5), y))


def _of_reciprocal_root(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    slope = chain.op("multiply", _number(chain, x, -0.5), chain.op("divide", y, x))
    return chain.op("multiply", factor, slope)


def _of_size(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    return chain.op("multiply", factor, chain.op("sign", x))


def _of_square(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del y
    if chain.pick(2):  # for a product with x as both factors
        part = chain.op("multiply", factor, x)
        return chain.op("add", part, part)
    return chain.op("multiply", factor, chain.op("multiply", _number(chain, x, 2), x))


def _of_tanh(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    square = chain.op("multiply", y, y)
    return chain.op("multiply", factor, chain.op("subtract", _number(chain, x, 1), square))


def _of_logistic(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    rest = chain.op("subtract", _number(chain, x, 1), y)
    return chain.op("multiply", factor, chain.op("multiply", y, rest))


def _of_reciprocal(chain: Chain, x: Value, y: Value, factor: Value) -> Value:
    del x
    return chain.op("multiply", chain.op("negate", factor), chain.op("multiply", y, y))


def _square(chain: Chain, x: Value) -> Value:
    return chain.op("multiply", x, x)


def _reciprocal(chain: Chain, x: Value) -> Value:
    return chain.op("divide", _number(chain, x, 1), x)


def _function(name: str) -> Callable[[Chain, Value], Value]:
    return lambda chain, x: chain.op(name, x)


_FUNCTIONS: tuple[tuple[Callable[[Chain, Value], Value], Derivative], ...] = (
    (_function("log"), _of_log),
    (_function("exponential"), _of_exponential),
    (_function("sqrt"), _of_root),
    (_square, _of_square),
    (_function("abs"), _of_size),
    (_function("rsqrt"), _of_reciprocal_root),
    (_reciprocal, _of_reciprocal),
    (_function("log_plus_one"), _of_log_plus_one),
    (_function("exponential_minus_one"), _of_exponential_minus_one),
    (_function("tanh"), _of_tanh),
    (_function("logistic"), _of_logistic),
)
"""Differentiable functions, with their derivatives."""


def _gradient(chain: Chain, value: Value) -> Value:
    """Write the derivative of up to three composed functions; their value may be a result."""
    chain.widen(value)
    x, steps = value, list[tuple[Derivative, Value, Value]]()
    for _ in range(choose(chain.pick, (2, 3, 1))):
        function, derivative = choose(chain.pick, _FUNCTIONS)
        y = function(chain, x)
        steps.append((derivative, x, y))
        x = y
    if chain.pick(4) == 3:
        chain.data.append(x)
    factor = _number(chain, value, 1) if chain.pick(3) < 2 else chain.like(tensor(value))
    for derivative, at, result in reversed(steps):
        factor = derivative(chain, at, result, factor)
    return factor


PATTERNS = (Pattern(_gradient, real, weight=2),)
