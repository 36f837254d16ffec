"""Derivatives of composed functions, against differences."""

from __future__ import annotations

import numpy as np

from generators.chains.chain import Chain
from generators.chains.patterns.gradients import _FUNCTIONS, PATTERNS
from reference.ir.program import TensorType
from reference.ir.types import element_type
from suites.meta.support.built_cases import evaluate_chain, pick_of, write_chains

F64 = element_type("f64")
AT = np.array([0.3, 0.7, 1.9])
STEP = 1e-6


def test_each_derivative_is_the_slope_of_its_function() -> None:
    for number, (function, derivative) in enumerate(_FUNCTIONS):
        for seed in range(2):
            chain = Chain(pick_of(seed))
            x = chain.parameter(TensorType((3,), F64))
            chain.data.append(x)
            y = function(chain, x)
            slope = derivative(chain, x, y, chain.number(2, TensorType((3,), F64)))
            rise = evaluate_chain(chain, y, AT + STEP) - evaluate_chain(chain, y, AT - STEP)
            found = evaluate_chain(chain, slope, AT)
            np.testing.assert_allclose(found, 2 * rise / (2 * STEP), rtol=1e-6, err_msg=str(number))


def test_up_to_three_functions_are_composed() -> None:
    """The chain rule: a factor for each function; the last factor is found first."""
    lengths = {
        len(chain.operations) for chain, _ in write_chains(PATTERNS, "gradient", "f32", (3,), 60)
    }
    assert min(lengths) <= 3
    assert max(lengths) >= 10


def test_the_value_of_the_function_may_be_a_result() -> None:
    counts = {len(chain.data) for chain, _ in write_chains(PATTERNS, "gradient", "f32", (3,), 60)}
    assert counts == {1, 2}
