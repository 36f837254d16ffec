"""Uses of a value that move by themselves: a compiler may compute a value again for each use."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.judging.perturbation.evaluations import Permitted
from conformance.judging.perturbation.judge import judge_program
from conformance.judging.perturbation.separate_uses import VERSIONS, separated
from conformance.stablehlo.parse import parse_module
from conformance.verdict import Verdict
from reference.ir.types import Array

MASKED = """
func.func @main(%x: tensor<2x8xf32>, %s: tensor<f32>) -> tensor<2x8xf32> {{
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
  %m = stablehlo.multiply %x, %b : tensor<2x8xf32>
  {between}
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = stablehlo.reduce(%k init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<2x8xf32>, tensor<f32>) -> tensor<2xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<2xf32>) -> tensor<2x8xf32>
  %d = stablehlo.subtract %k, %rb : tensor<2x8xf32>
  return %d : tensor<2x8xf32>
}}"""
RESHAPED = "%k = stablehlo.reshape %m : (tensor<2x8xf32>) -> tensor<2x8xf32>"
KEPT = "%k = stablehlo.optimization_barrier %m : tensor<2x8xf32>"
X = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
S = np.array(0.35355338, np.float32)


def contracted(factor: float = 1.0) -> Array:
    """The difference with the product within it not rounded, as one contracted operation has it."""
    rounded = (X * S).max(axis=1, keepdims=True).astype(np.float64)
    exact = X.astype(np.float64) * float(S)
    found = exact - rounded
    return np.where(np.abs(found) < 1e-6, factor * found, found).astype(np.float32)


@pytest.mark.parametrize(
    ("between", "factor", "verdict"),
    [
        (RESHAPED, 1.0, Verdict.PASS),
        (RESHAPED, 64.0, Verdict.INACCURATE),
        (KEPT, 1.0, Verdict.DIVERGENT),  # there is one value, which was rounded
    ],
)
def test_a_value_may_be_computed_twice(between: str, factor: float, verdict: Verdict) -> None:
    program = parse_module(MASKED.format(between=between))
    permitted = Permitted(program, [X, S])
    assert (permitted.expected[0] != contracted()).any()
    assert judge_program(permitted, [contracted(factor)]).verdict is verdict


def test_versions_are_few_and_mean_the_same() -> None:
    lines = ["%0 = stablehlo.exponential %x : tensor<2xf32>"]
    lines += [f"%{n} = stablehlo.negate %{n // 2} : tensor<2xf32>" for n in range(1, 40)]
    lines += [f"%s{n} = stablehlo.add %{n}, %{40 - n} : tensor<2xf32>" for n in range(1, 40)]
    ends = ", ".join(f"%s{n}" for n in range(1, 40))
    types = ", ".join(["tensor<2xf32>"] * 39)
    text = f"func.func @main(%x: tensor<2xf32>) -> ({types}) {{\n"
    program = parse_module(text + "\n".join(lines) + f"\nreturn {ends} : {types}\n}}")
    found = separated(program)
    operations = found.program.main.body.operations
    assert found.apart == {"0"}
    assert sum(one.name == "optimization_barrier" for one in operations) == VERSIONS - 1
    assert len(operations) <= 3 * len(program.main.body.operations)
    x = np.array([0.5, -1], np.float32)
    one, other = (Permitted(each, [x]).expected for each in (program, found.program))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
